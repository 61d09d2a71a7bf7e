"""Explanations and a summary by hand, without a network: `from tests.by_hand import explained`."""

import re
from itertools import permutations
from typing import Any

import numpy as np

from sk_han import DocumentExplanation, Summary
from sk_han.inspection import ClassSummary, Context, Removal, Term

REVIEW = "Great film. I loved it!"


def explained(
    text: str = REVIEW, *, n_read: int | None = None, **changes: Any
) -> DocumentExplanation:
    r"""Explain a text: sentences end at . ! ? or a line break, a word is a run of \w.

    The k-th word of a sentence weighs k, and so does the k-th sentence. Sentences after the
    first `n_read` are cut off.
    """
    sentence_spans, word_spans, sentence_of_word = [], [], []
    for match in re.finditer(r"[^.!?\n]+[.!?]*", text):
        words = [word.span() for word in re.finditer(r"\w+", match.group())]
        if words and len(sentence_spans) != n_read:
            sentence_of_word += [len(sentence_spans)] * len(words)
            word_spans += [(match.start() + a, match.start() + b) for a, b in words]
            sentence_spans.append((word_spans[-len(words)][0], match.end()))
    lengths = np.bincount(sentence_of_word, minlength=len(sentence_spans)).astype(int)
    weights = [np.arange(1, n + 1) / (n * (n + 1) / 2) for n in lengths]
    word_attention = np.concatenate([np.empty(0), *weights])
    n = len(sentence_spans)
    sentence_attention = np.arange(1, n + 1) / max(1, n * (n + 1) / 2)
    fields = {
        "text": text,
        "word_spans": word_spans,
        "sentence_spans": sentence_spans,
        "sentence_of_word": sentence_of_word,
        "word_attention": word_attention,
        "sentence_attention": sentence_attention,
        "contributions": np.repeat(sentence_attention, lengths) * word_attention,
        "sentence_contributions": sentence_attention,
        "method": "attention",
        "classes": ["neg", "pos"],
        "probabilities": [0.1, 0.9],
        "predicted": "pos",
        "target": "pos",
        "unknown": np.zeros(len(word_spans), dtype=bool),
        "truncated": n_read is not None,
    }
    return DocumentExplanation(**(fields | changes))


def signed(text: str = REVIEW, **changes: Any) -> DocumentExplanation:
    """Explain a text with contributions of falling, alternating signs: 1, -1/2, 1/3, ..."""
    plain = explained(text)
    n_words, n_sentences = len(plain.word_spans), len(plain.sentence_spans)
    return explained(
        text,
        **{
            "method": "gradient_attention",
            "contributions": [(-1) ** i / (i + 1) for i in range(n_words)],
            "sentence_contributions": [(-1) ** i / (i + 1) for i in range(n_sentences)],
        }
        | changes,
    )


def summarized(**changes: Any) -> Summary:
    """Summarize two classes by hand; what speaks for the second speaks against the first."""

    def of_class(label: str, sign: int) -> ClassSummary:
        terms = [
            Term("good", "network", sign * 0.5, 3, 0.75, 0.5, None, (PLACE,)),
            Term("bad", "network", sign * -0.25, 2, 0.5, 0.0, None, (PLACE, PLACE)),
            Term("not good", "ngrams", sign * -1.5, 1, 0.25, 1.0, sign * -4.5, (PLACE,)),
        ]
        return ClassSummary(label, 4, 2, 0.75, -0.125, tuple(terms), REMOVAL)

    fields = {"classes": (of_class("neg", -1), of_class("pos", 1)), "removal": REMOVAL}
    return Summary(**({"n_documents": 4, "n_given": 9} | fields | changes))


PLACE = Context(7, 2, 6, "A ", "good", " film.", "pos")
REMOVAL = Removal(4, 0.125, 0.25, 0.05, 0.5, 0.5, 0.0, 1.0)


def by_all_orders(value, n):
    """Average what each of n players adds over all orders of putting them in."""
    added = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        for place, player in enumerate(order):
            before, after = sorted(order[:place]), sorted(order[: place + 1])
            added[player] += value(after) - value(before)
    return added / len(orders)
