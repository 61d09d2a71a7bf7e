"""Pairs of made-up German and English, and translators that learn them in a second."""

from itertools import product

from sk_han import AttentionTranslator

SUBJECTS = {"Hund": "dog", "Kind": "child", "Mann": "man"}
VERBS = {"rennt": "runs", "schläft": "sleeps", "singt": "sings"}
COLOURS = {"": "", "kleiner": "small", "roter": "red"}


def pairs() -> tuple[list[str], list[str]]:
    """Give 27 pairs."""
    found = [
        (
            " ".join(filter(None, ["Ein", colour, subject, verb])) + ".",
            " ".join(filter(None, ["A", COLOURS[colour], SUBJECTS[subject], VERBS[verb]])) + ".",
        )
        for colour, subject, verb in product(COLOURS, SUBJECTS, VERBS)
    ]
    sources, targets = zip(*found, strict=True)
    return list(sources), list(targets)


def tiny(**params):
    """Make a translator whose layers all have other sizes."""
    defaults = {
        "embedding_dim": 13,
        "hidden_size": 11,
        "attention_size": 7,
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "lr": 0.02,
        "max_epochs": 2,
        "batch_size": 8,
        "validation_fraction": None,
        "beam_size": 2,
        "random_state": 0,
        "device": "cpu",
    }
    return AttentionTranslator(**{**defaults, **params})
