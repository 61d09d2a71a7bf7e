"""Documents to label next: read-only data, without a model."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.listing import Listing
from sk_han.inspection.results.result import freeze
from sk_han.rendering.listings import plot_suggestions, suggestions_page, suggestions_text
from sk_han.utils.counts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SuggestedDocument(NamedTuple):
    """A document to label, as `Suggestions` lists them.

    `guess` is the class that is predicted, and `rival` the next one. With several labels a document
    `guess` is the label that is least decided, and `rival` is None.
    """

    document: int
    text: str | None
    is_random: bool
    margin: float
    guess: Any
    probability: float
    rival: Any


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Suggestions(Listing[SuggestedDocument]):
    """Documents to label next: first those that a model is least decided on, then random ones.

    `suggest` returns it.

    Parameters
    ----------
    documents : ndarray of int64, shape (n_suggested,)
        The row of each document in the pool.
    is_random : ndarray of bool, shape (n_suggested,)
        Whether it was drawn at random.
    margins : ndarray of float64, shape (n_suggested,)
        The difference of the probabilities of the two most probable classes; with several labels a
        document, how far the log-odds of the nearest label are from its threshold, and of two
        classes those of the second from the threshold of scikit-learn's threshold classifiers.
    nearest : ndarray of int64, shape (n_suggested, 2) or (n_suggested, 1)
        The numbers of these two classes in `labels`, the predicted first, or of this label.
    probabilities : ndarray of float64, shape (n_suggested, n_labels)
        What the model says.
    labels : tuple
        Names of all classes or labels.
    n_documents : int
        Size of the pool.
    texts : tuple of n_suggested str, default=None
        The documents; None if they are no raw texts.
    notes : tuple of str, default=()
        What one must know to use them.
    """

    to_fill_in = "label"

    documents: NDArray[np.int64]
    is_random: NDArray[np.bool_]
    margins: NDArray[np.float64]
    nearest: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    labels: tuple[Any, ...]
    n_documents: int
    texts: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.documents)
        freeze(
            self,
            {
                "documents": ((n,), np.int64),
                "is_random": ((n,), np.bool_),
                "margins": ((n,), np.float64),
                "nearest": ((n, None), np.int64),
                "probabilities": ((n, len(self.labels)), np.float64),
            },
        )

    def to_text(self) -> str:
        """Return the first documents as lines."""
        return suggestions_text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the margins in the order of suggestion."""
        return plot_suggestions(self, ax)

    def _entry(self, place: int) -> SuggestedDocument:
        guess, *rival = self.nearest[place].tolist()
        return SuggestedDocument(
            int(self.documents[place]),
            None if self.texts is None else self.texts[place],
            bool(self.is_random[place]),
            float(self.margins[place]),
            self.labels[guess],
            float(self.probabilities[place, guess]),
            self.labels[rival[0]] if rival else None,
        )

    def _columns(self) -> dict[str, list[Any]]:
        left_out = {"text"} if self.texts is None else set()
        left_out |= {"rival"} if self.nearest.shape[1] == 1 else set()
        names = [name for name in SuggestedDocument._fields if name not in left_out]
        return {name: [getattr(entry, name) for entry in self] for name in names}

    def _markup(self, *, full_page: bool) -> str:
        return suggestions_page(self, full_page)

    def __repr__(self) -> str:
        return f"Suggestions({len(self):,} of {counted(self.n_documents)})"
