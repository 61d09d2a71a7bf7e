"""Figures of explanations, matrices and trainings."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_han.inspection import plot_explanation, plot_history
from tests.by_hand import explained, signed
from tests.reports import made
from tests.tiny_models import tiny

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

LONG = " ".join(f"Sentence {i}." for i in range(30))


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_contributions_in_the_order_of_the_text():
    explanation = signed("One. Two. Three.", target="neg")
    ax = plot_explanation(explanation)
    assert names(ax) == ["One.", "Two.", "Three."]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == explanation.sentence_contributions.tolist()
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["+1.000", "-0.500", "+0.333"]
    assert ax.get_xlabel() == "contribution to the log-odds of neg"
    assert ax.get_title() == "predicted pos (pos 0.900, neg 0.100), explained neg"


def test_colours_depend_on_the_sign_and_the_background():
    for background, *expected in (("white", "#1f63b8", "#ad5200"), ("black", "#7ab2f2", "#f0a154")):
        ax = plot_explanation(signed("One. Two."), Figure(facecolor=background).subplots())
        colors = [plt.matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches]
        assert colors == expected


def test_a_bar_within_two_standard_errors_of_0_is_pale():
    ax = plot_explanation(signed("One. Two.", sentence_errors=[0.1, 0.3]))
    opaque, pale = (bar.get_alpha() for bar in ax.patches)
    assert pale < opaque / 2
    assert [text.get_text() for text in ax.texts] == ["+1.000", "\N{ALMOST EQUAL TO}0"]


@pytest.mark.parametrize(
    ("explanation", "label"),
    [
        (explained(), "attention"),
        (explained(""), "No words of this document were read."),
        (signed(method="random"), "random numbers, a control"),
        (signed(against="neg"), "contribution to the log-odds of pos rather than neg"),
    ],
)
def test_the_axis_names_the_unit_of_bars(explanation, label):
    ax = plot_explanation(explanation)
    assert ax.get_xlabel() == label
    ax.figure.canvas.draw()


def test_only_the_strongest_sentences_of_a_long_document_are_drawn():
    values = np.arange(30) - 10.0
    ax = plot_explanation(signed(LONG, sentence_contributions=values))
    assert len(ax.patches) == len(names(ax)) == 20
    assert names(ax)[:2] == ["Sentence 0.", "Sentence 1."]  # -10 and -9
    assert "(the strongest 20 of 30 sentences)" in ax.get_xlabel()


def test_long_sentences_are_cut_and_their_markup_is_inert():
    ax = plot_explanation(signed("Word $x_1$ and \u202eback " + 50 * "word "))
    (name,) = names(ax)
    assert name.startswith("Word $x_1$")
    assert len(name) == 50
    assert "\u202e" not in name
    ax.figure.canvas.draw()  # a formula that does not close would be an error


def test_ax_must_be_a_single_axes():
    with pytest.raises(
        TypeError, match=r"ax must be one matplotlib\.axes\.Axes; got an array of 2"
    ):
        plot_explanation(signed(), plt.subplots(1, 2)[1])


def test_long_names_are_cut_but_stay_distinct():
    ax = made(labels=[f"{50 * 'a'} {i} {50 * 'z'}" for i in range(3)]).plot()
    ax.figure.canvas.draw()  # a layout without room would warn
    columns, rows = (
        {label.get_text() for label in labels}
        for labels in (ax.get_xticklabels(), ax.get_yticklabels())
    )
    assert (len(columns), len(rows)) == (2, 3)  # one is unknown
    assert all("…" in name for name in rows)


HISTORY = [
    {"epoch": 1, "train_loss": 0.7, "valid_loss": 0.6, "valid_accuracy": 0.6},
    {"epoch": 2, "train_loss": 0.5, "valid_loss": 0.55, "valid_accuracy": 0.7},
]


def test_history_has_a_line_for_each_kind_of_number():
    ax = plot_history(HISTORY, ax=Figure().subplots())
    assert [line.get_label() for line in ax.lines] == ["training loss", "validation loss"]
    assert [line.get_linestyle() for line in ax.lines] == ["--", "-"]
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[1, 0.6], [2, 0.55]])
    (scores,) = [other for other in ax.figure.axes if other is not ax]
    np.testing.assert_array_equal(scores.lines[0].get_ydata(), [0.6, 0.7])


def test_coinciding_lines_stay_visible():
    epochs = [
        {"train_loss": 0.7, "valid_accuracy": 0.8},
        {"train_loss": 0.5, "valid_accuracy": 0.7},
    ]
    ax = plot_history(epochs, ax=Figure().subplots())
    ax.figure.draw_without_rendering()
    ends = [axes.transData.transform(axes.lines[0].get_xydata())[:, 1] for axes in ax.figure.axes]
    assert np.abs(ends[0] - ends[1]).min() > 10  # pixels


def test_epochs_without_a_score_are_left_out():
    history = [HISTORY[0], {"epoch": 2, "train_loss": 0.5, "valid_loss": None}]
    ax = plot_history(history, ax=Figure().subplots())
    assert [len(line.get_xdata()) for line in ax.lines] == [2, 1]


def test_each_score_has_its_own_colour_and_marker():
    names = [f"valid_score_{i}" for i in range(8)]
    history = [{"epoch": 1, "train_loss": 0.7} | dict.fromkeys(names, 0.5)]
    ax = plot_history(history, ax=Figure().subplots())
    (scores,) = [other for other in ax.figure.axes if other is not ax]
    looks = [(line.get_color(), line.get_marker()) for line in scores.lines]
    assert len({color for color, _ in looks}) == len({marker for _, marker in looks}) + 1 == 8
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["training loss", *(f"validation score_{i}" for i in range(8))]


def test_epochs_without_a_number_are_counted_from_one():
    ax = plot_history([{"train_loss": 1.0}, {"train_loss": 0.5}], ax=Figure().subplots())
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1.0], [2, 0.5]])
    assert ax.figure.axes == [ax]  # without scores there is no second scale


@pytest.mark.parametrize(
    ("history", "error", "message"),
    [
        ([], ValueError, "nothing to draw.* got 0 epochs"),
        ([{"epoch": 1, "seconds": 2.0}], ValueError, r"history has nothing to draw.*need train"),
        ([{"valid_loss": None}], ValueError, "history has nothing to draw"),
        ([{"train_loss": 1.0}, 2], TypeError, "int"),
        (tiny(), NotFittedError, "This HANClassifier instance is not fitted yet"),
        (make_pipeline(tiny()), NotFittedError, "This Pipeline instance is not fitted yet"),
        ("history", TypeError, "first argument is a str"),
        (DummyClassifier().fit([[0]], [0]), TypeError, "got DummyClassifier"),
    ],
)
def test_a_history_without_losses_and_scores_is_refused(history, error, message):
    with pytest.raises(error, match=message):
        plot_history(history)
