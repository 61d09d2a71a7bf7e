import dataclasses

import numpy as np
import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

from tests.by_hand import summarized  # noqa: E402


def bars(ax):
    return [round(patch.get_width(), 6) for patch in ax.patches]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_the_contributions_of_each_part():
    network, ngrams = summarized().plot()
    assert (names(network), bars(network)) == (["good", "bad"], [0.5, -0.25])
    assert (names(ngrams), bars(ngrams)) == (["not good"], [-1.5])
    assert network.get_xlim() == ngrams.get_xlim()


def test_a_summary_of_nothing_says_so():
    with pytest.raises(ValueError, match="no classes, so there is nothing to draw"):
        dataclasses.replace(summarized(), classes=()).plot()


def test_a_class_is_chosen_by_its_label():
    assert bars(summarized().plot(label="neg")[0]) == [0.25, -0.5]
    with pytest.raises(KeyError, match="none of the classes"):
        summarized().plot(label="good")


def test_long_labels_that_differ_in_their_middle_alone_differ_in_titles():
    long = [f"{40 * 'a'}{each}{40 * 'z'}" for each in "bc"]
    classes = [
        dataclasses.replace(found, label=label)
        for found, label in zip(summarized().classes, long, strict=True)
    ]
    ax = summarized(classes=tuple(classes)).plot()[0]
    titles = " ".join(text.get_text() for text in ax.texts)
    assert "\N{HORIZONTAL ELLIPSIS}b" in titles
    assert "\N{HORIZONTAL ELLIPSIS}c" in titles


def test_given_axes_are_drawn_on():
    _, axes = pyplot.subplots(2, 1)
    assert np.array_equal(summarized().plot(axes), axes)
    with pytest.raises(ValueError, match="ax must be two axes"):
        summarized().plot(ax=axes[:1])


def test_a_class_without_terms_is_drawn():
    found = dataclasses.replace(summarized().classes[1], terms=())
    axes = summarized(classes=(found, found)).plot()
    axes[0].figure.canvas.draw()
    assert axes[0].texts[0].get_text().strip() == "for pos: none"


def test_terms_and_labels_take_fonts_that_have_their_characters(monkeypatch):
    asked = []

    def families_for(texts):
        asked.extend(texts)
        return ["DejaVu Sans", "DejaVu Serif"]

    monkeypatch.setattr("sk_han.rendering.summary_figure.families_for", families_for)
    found = summarized().classes[1]
    terms = tuple(dataclasses.replace(term, text="\u597d") for term in found.terms)
    classes = (found, dataclasses.replace(found, label="\u6b63", terms=terms))
    network, _ = summarized(classes=classes).plot()
    assert "\u597d" in asked
    assert any("\u6b63" in text for text in asked)
    for text in [*network.texts, *network.get_yticklabels()]:
        assert text.get_fontfamily() == ["DejaVu Sans", "DejaVu Serif"]
