"""A collection of texts in numbers, as it is before a fit: read-only data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sk_han.inspection.results.result import Result, plain
from sk_han.rendering.description_facts import description_html, description_text
from sk_han.rendering.matplotlib_bars import plot_bars
from sk_han.utils.counts import counted
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclasses.dataclass(frozen=True, kw_only=True)
class FitCost:
    """What a fit is estimated to take.

    Parameters
    ----------
    seconds : float
        By the clock.
    megabytes : float
        Largest memory of the process.
    epochs : int
        Number of passes over the documents.
    n_threads : int
        Number of threads that the estimate is for.
    """

    seconds: float
    megabytes: float
    epochs: int
    n_threads: int


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class TextDescription(Result):
    """A collection of texts in numbers, as `sk_han.describe` finds them.

    ``print`` shows it as text, a notebook as a table. Row numbers count texts from 0.

    Parameters
    ----------
    n_documents, n_sentences, n_words : int
        What the network reads: within the limits of the tokenizer.
    n_distinct_words : int
        Words of the vocabulary.
    lengths : mapping of str to mapping of str to float
        For "words a document", "sentences a document" and "words a sentence" the values "shortest",
        "10 %", "median", "mean", "90 %" and "longest". With several labels a document, "labels a
        document" too.
    scripts : mapping of str to float
        Share of the words of the vocabulary, as often as they occur and if they have a letter, that
        are written in each script, the most frequent first.
    without_words : sequence of int
        Rows of texts in which no word was found.
    repeated : sequence of int
        Rows of texts with the same words as an earlier one, within the limits of the tokenizer.
    conflicting : sequence of int
        Rows of texts with the same words as one with another label, within the same limits.
    class_counts : mapping of label to int, or None
        Number of documents of each class or label, in the order of `classes_`; None without labels.
    dropped_characters : mapping of str to int
        Characters that belong to no word, the most frequent first, in up to 1,000 texts.
    dropped_share : float
        Their share of all characters but white space in these texts.
    truncated : sequence of int
        Rows of texts that `max_sentences` or `max_words` cut.
    unknown_share : float
        Share of the words that are not in the vocabulary, by `min_df` or `max_features`.
    samples : mapping of int to sequence of sequence of str
        Some rows, each with its sentences as lists of words.
    cost : FitCost
        Estimate of a fit of `HANClassifier()`.
    without_labels : sequence of int, or None
        With several labels a document, rows of texts that have none; None of one class a document.
    """

    n_documents: int
    n_sentences: int
    n_words: int
    n_distinct_words: int
    lengths: Mapping[str, Mapping[str, float]]
    scripts: Mapping[str, float]
    without_words: Sequence[int]
    repeated: Sequence[int]
    conflicting: Sequence[int]
    class_counts: Mapping[Any, int] | None
    dropped_characters: Mapping[str, int]
    dropped_share: float
    truncated: Sequence[int]
    unknown_share: float
    samples: Mapping[int, Sequence[Sequence[str]]]
    cost: FitCost
    without_labels: Sequence[int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dicts, lists, strings and numbers, which JSON can hold.

        ``class_counts`` is a list of pairs of label and number, since labels may be numbers, and
        ``samples`` a list of pairs of row and sentences.
        """
        values: dict[str, Any] = super().to_dict()
        for name in ("class_counts", "samples"):
            if values[name] is not None:
                values[name] = plain(getattr(self, name).items())
        return values

    def to_text(self) -> str:
        """Return what is worth knowing as lines of text."""
        return description_text(self)

    def to_frame(self) -> DataFrame:
        """Return the lengths as a pandas DataFrame, with a row for each kind of length."""
        pandas = import_optional("pandas", None, "TextDescription.to_frame")
        return pandas.DataFrame.from_dict(self.lengths, orient="index")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many words a document has, from the shortest to the longest."""
        words = "words a document"
        return plot_bars(self.lengths[words], words, ax, "TextDescription.plot")

    def _markup(self, *, full_page: bool) -> str:
        return description_html(self, full_page=full_page)

    def __repr__(self) -> str:
        kind = "class" if self.without_labels is None else "label"
        counts = self.class_counts
        classes = "" if counts is None else f", {counted(len(counts), kind)}"
        return f"TextDescription({counted(self.n_documents)}{classes})"
