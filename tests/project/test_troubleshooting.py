"""Messages on the page "Troubleshooting" are those that users get; "..." stands for the rest."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import load_csv, make_reviews

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "troubleshooting.md"
SMALL = {
    "embedding_dim": 4,
    "word_hidden": 2,
    "sentence_hidden": 2,
    "max_epochs": 1,
    "embedding_init": "random",
    "random_state": 0,
}
TEXTS, LABELS = make_reviews(60, random_state=0)
OTHER = {"negative": "positive", "positive": "negative"}
EVERY_OTHER = ["new" if i % 2 else "negative" for i in range(60)]


def fit(X=TEXTS, y=LABELS, **params):
    return HANClassifier(**{**SMALL, **params}).fit(X, y)


FAULTS = {
    "a text for a list": lambda: fit("One text."),
    "a missing text": lambda: fit([*TEXTS[:-1], None]),
    "two columns": lambda: fit(pd.DataFrame({"a": TEXTS, "b": TEXTS})),
    "a list of words": lambda: fit([["a", "b"], *TEXTS[1:]]),
    "a label too few": lambda: fit(y=LABELS[:-1]),
    "collections of labels": lambda: fit(y=[["a", "b"], *(["a"] for _ in TEXTS[1:])]),
    "a missing label": lambda: fit(y=[*LABELS[:-1], np.nan]),
    "fractions": lambda: fit(y=np.linspace(0, 1, 60)),
    "a new class": lambda: fit(warm_start=True).fit(TEXTS, EVERY_OTHER),
    "a class of one": lambda: fit(y=[*LABELS[:-1], "mixed"]),
    "a class of three": lambda: fit(y=[*LABELS[:-3], *["mixed"] * 3]),
    "a class in two spellings": lambda: fit(
        y=[
            label.capitalize() if i % 2 and label == "positive" else label
            for i, label in enumerate(LABELS)
        ]
    ),
    "copies with another label": lambda: fit(
        [*TEXTS[:-2], *TEXTS[:2]], [*LABELS[:-2], *(OTHER[label] for label in LABELS[:2])]
    ),
    "a table of counts": lambda: fit(np.arange(6_000).reshape(60, 100) % 101),
    "a column that is not there": lambda: load_csv("reviews.csv", text="text", label="stars"),
    "weights for a pipeline": lambda: make_pipeline(
        HierarchicalTokenizer(), HANClassifier(**SMALL)
    ).fit(TEXTS, LABELS, sample_weight=np.ones(60)),
    "a learning rate too high": lambda: fit(max_epochs=3, lr=1e6),
    "words that occur once": lambda: fit(
        [f"word{i}" for i in range(600)],
        ["yes", "yes", "yes", "no"] * 150,
        linear_chars=None,  # the last two digits tell the label
        max_epochs=2,
        lr=1e-9,
        validation_fraction=0.2,
    ),
    "a parameter of Keras": lambda: fit(epochs=3),
    "a GPU that is not there": lambda: fit(device="cuda"),
    "not fitted": lambda: HANClassifier().predict(TEXTS),
    "a file that is cut off": lambda: sk_han.load("model.han"),
    "a function in a file": lambda: sk_han.save(
        HierarchicalTokenizer(word_tokenizer=str.split).fit(TEXTS), "tokenizer.han"
    ),
}


def told(fault):
    """The message of an error, or else of the one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fault()
        except Exception as error:
            return str(error)
    (warning,) = caught
    return str(warning.message)


def is_quoted(message, quoted):
    """Whether a message is the quoted one, or starts with it where "..." follows."""
    start = quoted.removesuffix(" ...")
    return message == start or (message.startswith(start) and start != quoted)


def on_the_page():
    quoted = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [" ".join(message.split()) for message in quoted]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("review,stars\ngood,5\nbad\n")
    Path("model.han").write_bytes(b"PK\x03\x04 no end")


@pytest.mark.parametrize("fault", FAULTS)
def test_messages_that_users_get_are_on_the_page(files, fault, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    message = told(FAULTS[fault])
    assert [is_quoted(message, quoted) for quoted in on_the_page()].count(True) == 1, message


def test_every_message_of_the_page_is_provoked():
    assert len(on_the_page()) == len(set(on_the_page())) == len(FAULTS)
