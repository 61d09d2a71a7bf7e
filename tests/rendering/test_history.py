import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer
from tests.tiny_models import fitted_classifier, fitted_pipeline, tiny

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib.figure import Figure  # noqa: E402

from sk_han.rendering import plot_history  # noqa: E402

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


def test_epochs_without_a_score_are_left_out():
    history = [HISTORY[0], {"epoch": 2, "train_loss": 0.5, "valid_loss": None}]
    ax = plot_history(history, ax=Figure().subplots())
    assert len(ax.lines[0].get_xdata()) == 2
    assert len(ax.lines[1].get_xdata()) == 1


@pytest.mark.parametrize("make", [fitted_classifier, fitted_pipeline])
def test_a_fitted_estimator_brings_its_history(make):
    estimator = make()
    classifier = estimator[-1] if make is fitted_pipeline else estimator
    ax = plot_history(estimator, ax=Figure().subplots())
    losses = [epoch["train_loss"] for epoch in classifier.history_]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), losses)


@pytest.mark.parametrize("estimator", [tiny(), make_pipeline(HierarchicalTokenizer(), tiny())])
def test_an_unfitted_estimator_is_refused(estimator):
    with pytest.raises(NotFittedError, match="This HANClassifier instance is not fitted yet"):
        plot_history(estimator)


@pytest.mark.parametrize("other", [None, "history", DummyClassifier().fit([[0]], [0])])
def test_what_has_no_history_is_refused(other):
    message = f"plot_history needs a fitted HANClassifier.*; got {type(other).__name__}"
    with pytest.raises(TypeError, match=message):
        plot_history(other)


def test_each_score_has_its_colour_and_marker():
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
        ([], ValueError, "history has no epoch"),
        ([{}], ValueError, r"history has nothing to draw.*need train_loss"),
        ([{"epoch": 1, "seconds": 2.0}], ValueError, "history has nothing to draw"),
        ([{"valid_loss": None}], ValueError, "history has nothing to draw"),
        ([{"train_loss": 1.0}, 2], TypeError, r"history\[1\] is 2, of type int"),
    ],
)
def test_a_history_without_losses_and_scores_is_refused(history, error, message):
    with pytest.raises(error, match=message):
        plot_history(history)
