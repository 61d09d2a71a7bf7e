"""A stored model and a table, both tiny, and the command line in this process."""

import csv
import io
import sys

import pytest

import sk_han
from sk_han.cli import main
from tests.tiny_models import LABELS, TEXTS, fitted_classifier


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A file of a model with the classes neg and pos."""
    path = tmp_path_factory.mktemp("model") / "tiny.han"
    sk_han.save(fitted_classifier(max_epochs=3, lr=0.05), path)
    return str(path)


@pytest.fixture
def table(tmp_path):
    """Write the tiny corpus, or other rows under the same columns; give the path."""

    def write(rows=None, name="data.csv", header=("id", "text", "label"), delimiter=","):
        if rows is None:
            rows = [(i, *pair) for i, pair in enumerate(zip(TEXTS, LABELS, strict=True))]
        with open(tmp_path / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=delimiter).writerows([header, *rows])
        return str(tmp_path / name)

    return write


@pytest.fixture
def run(capfd):
    """Run the command line; give exit code, standard output and standard error."""

    def run_main(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run_main


@pytest.fixture
def standard_input(monkeypatch):
    """Give text or bytes to the next command."""

    def give(text):
        data = text if isinstance(text, bytes) else text.encode()
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdin", stream)

    return give
