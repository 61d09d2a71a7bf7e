import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from sk_han.rendering import plot_explanation  # noqa: E402
from sk_han.rendering.colors import DARK, LIGHT  # noqa: E402
from tests.by_hand import explained, signed  # noqa: E402

LONG = " ".join(f"Sentence {i}." for i in range(30))


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_each_sentence_has_a_bar_of_its_contribution_in_the_order_of_the_text():
    explanation = signed("One. Two. Three.", target="neg")
    ax = plot_explanation(explanation)
    assert names(ax) == ["One.", "Two.", "Three."]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == explanation.sentence_contributions.tolist()
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["+1.000", "-0.500", "+0.333"]
    assert ax.get_xlabel() == "contribution to the log-odds of neg"
    assert ax.get_title() == "predicted pos (pos 0.900, neg 0.100), explained neg"


def test_colours_are_those_of_the_sign_and_of_the_background():
    for background, theme in (("white", LIGHT), ("black", DARK)):
        ax = plot_explanation(signed("One. Two."), Figure(facecolor=background).subplots())
        colors = [plt.matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches]
        assert colors == [theme.toward[1], theme.against[1]]


def test_attention_and_chance_are_named():
    assert plot_explanation(explained()).get_xlabel() == "attention"
    random = plot_explanation(signed(method="random"))
    assert random.get_xlabel() == "random numbers, a control"


def test_of_a_long_document_the_strongest_sentences_are_drawn():
    values = np.arange(30) - 10.0
    ax = plot_explanation(signed(LONG, sentence_contributions=values))
    assert len(ax.patches) == len(names(ax)) == 20
    assert names(ax)[:2] == ["Sentence 0.", "Sentence 1."]  # -10 and -9
    assert "(the strongest 20 of 30 sentences)" in ax.get_xlabel()


def test_only_the_beginning_of_a_sentence_is_written_and_nothing_in_it_is_obeyed():
    ax = plot_explanation(signed("Word $x_1$ and \u202eback " + 50 * "word "))
    (name,) = names(ax)
    assert name.startswith("Word $x_1$")
    assert len(name) == 50
    assert "\u202e" not in name
    ax.figure.canvas.draw()  # a formula that does not close would be an error


def test_a_document_without_words_is_said_to_have_none():
    ax = plot_explanation(explained(""))
    assert ax.get_xlabel() == "No words of this document were read."
    ax.figure.canvas.draw()


def test_glyphs_that_no_font_has_are_left_to_matplotlib():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plot_explanation(signed("\U000e0100\ua4d0\u597d.")).figure.canvas.draw()
    assert all("missing from" in str(warning.message) for warning in caught)


def test_the_axes_must_be_one():
    with pytest.raises(
        TypeError, match=r"ax must be one matplotlib\.axes\.Axes; got an array of 2"
    ):
        plot_explanation(signed(), plt.subplots(1, 2)[1])
