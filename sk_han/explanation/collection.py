"""Explanations of several documents, and their HTML page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from sk_han.explanation.document import DocumentExplanation, Quantity, written

__all__ = ["ExplanationList"]


class ExplanationList(Sequence[DocumentExplanation]):
    """Explanations of several documents, in the order of the documents; immutable.

    Parameters
    ----------
    explanations : iterable of DocumentExplanation

    Notes
    -----
    A slice is an `ExplanationList` too. Terminal text and notebooks show the first documents and
    the number of the others; `to_html` writes all of them.

    Examples
    --------
    >>> from sk_han import ExplanationList
    >>> ExplanationList([])
    ExplanationList(0 documents)
    """

    __slots__ = ("_explanations",)

    SHOWN_AS_TEXT = 10
    SHOWN_IN_NOTEBOOK = 50

    def __init__(self, explanations: Iterable[DocumentExplanation] = ()) -> None:
        self._explanations = tuple(explanations)
        for i, explanation in enumerate(self._explanations):
            if not isinstance(explanation, DocumentExplanation):
                raise TypeError(
                    f"An ExplanationList holds DocumentExplanation objects; number {i} is a "
                    f"{type(explanation).__name__}."
                )

    @overload
    def __getitem__(self, index: int) -> DocumentExplanation: ...

    @overload
    def __getitem__(self, index: slice) -> ExplanationList: ...

    def __getitem__(self, index: int | slice) -> DocumentExplanation | ExplanationList:
        if isinstance(index, slice):
            return ExplanationList(self._explanations[index])
        return self._explanations[index]

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[DocumentExplanation]:
        return iter(self._explanations)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        y_true: Any = None,
        misclassified_first: bool = False,
        show: Quantity = "contributions",
        full_page: bool = True,
    ) -> str:
        """Return all documents as one HTML page, the first ones open and the others folded.

        The heading of each is its number in this list, the predicted class and its probability.

        Parameters
        ----------
        path : path-like, optional
            File to write, in UTF-8.
        y_true : array-like of shape (n_documents,), optional
            True labels, in the order of this list. With them, the heading of every document has
            its true label, misclassified ones are marked, and the page begins with their count.
        misclassified_first : bool, default=False
            Whether misclassified documents come first; needs `y_true`.
        show, full_page
            As in `DocumentExplanation.to_html`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If `y_true` is not one label for each document, holds labels that are no classes, or
            is missing although `misclassified_first` needs it.
        """
        from sk_han.rendering.html_list import render_html_list

        html = render_html_list(
            self,
            y_true=y_true,
            misclassified_first=misclassified_first,
            show=show,
            full_page=full_page,
        )
        return written(html, path)

    def _repr_html_(self) -> str:
        from sk_han.rendering.html_list import render_html_list

        shown = self[: self.SHOWN_IN_NOTEBOOK]
        return render_html_list(shown, full_page=False, n_left_out=len(self) - len(shown))

    def __str__(self) -> str:
        texts = [str(explanation) for explanation in self[: self.SHOWN_AS_TEXT]]
        if len(self) > len(texts):
            texts.append(f"... and {len(self) - len(texts)} more documents")
        return "\n\n".join(texts)

    def __repr__(self) -> str:
        return f"ExplanationList({len(self)} documents)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExplanationList):
            return NotImplemented
        return self._explanations == other._explanations

    def __hash__(self) -> int:
        return hash(self._explanations)
