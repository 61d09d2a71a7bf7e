"""Sentences whose tags follow from a word alone, from its letters, or from the tag before."""

from __future__ import annotations

from sk_han import SequenceTagger

X = [
    ["Anna", "visits", "New", "York", "."],
    ["Rome", "is", "old", "."],
    ["Ben", "and", "Clara", "like", "Old", "Town", "Road"],
    [],
    ["Yes"],
] * 8
Y = [
    ["B-NAME", "O", "B-NAME", "I-NAME", "O"],
    ["B-NAME", "O", "O", "O"],
    ["B-NAME", "O", "B-NAME", "O", "B-NAME", "I-NAME", "I-NAME"],
    [],
    ["O"],
] * 8
# Words of the training sentences and others, an empty sentence, and a single token.
UNSEEN = [["Dora", "visits", "Rome"], [], ["New"], ["Clara", "is", "in", "New", "Town", "!"]]


def with_columns(sentences: list[list[str]]) -> list[list[tuple[str, str]]]:
    """Add a column: whether the word begins with a capital."""
    return [[(word, "Up" if word[0].isupper() else "lo") for word in s] for s in sentences]


def tiny_tagger(**params) -> SequenceTagger:
    sizes = {"embedding_dim": 7, "attribute_dim": 3, "hidden_size": 5, "max_epochs": 12}
    return SequenceTagger(
        **(sizes | {"batch_size": 5, "lr": 0.03, "dropout": 0.1, "random_state": 0} | params)
    )
