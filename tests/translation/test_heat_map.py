"""The heat-map of an alignment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sk_han.translation import Alignment

pytest.importorskip("matplotlib").use("agg")


@pytest.fixture
def alignment() -> Alignment:
    return Alignment("", "", ["ein", "$x$", "c"], ["a", "b"], [[0.5, 0.25, 0.0], [0.0, 1.0, 0.0]])


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_rows_are_target_words_and_columns_source_words(alignment: Alignment) -> None:
    ax = alignment.plot()
    ax.figure.canvas.draw()  # a formula that is none would raise here
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["ein", "$x$", "c"]
    assert np.array_equal(ax.images[0].get_array(), alignment.weights)


def test_given_axes_are_used(alignment: Alignment) -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert alignment.plot(ax) is ax


def test_an_empty_translation_can_be_drawn() -> None:
    ax = Alignment("", "", [], [], np.zeros((0, 0))).plot()
    ax.figure.canvas.draw()
    assert not ax.images
