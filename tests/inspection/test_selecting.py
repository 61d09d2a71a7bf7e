"""The threshold keeps what it promises, on populations whose errors are known."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import FixedThresholdClassifier

from sk_han import save, selective_threshold, with_priors
from sk_han.serving import Scorer
from tests.html_page import Page
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, fitted_classifier, tiny

HELD_OUT = [f"{text} Then it was day {i}." for i, text in enumerate(TEXTS * 5)]
Y = np.tile(LABELS, 5)


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its input."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


KNOWN = Known().fit(None, [0, 1])


def proba(confidence):
    return np.column_stack([1 - confidence, confidence])


def drawn(n, random, risk):
    """Draw confidences between 0.5 and 1, and labels that are wrong with a risk."""
    confidence = 0.5 + random.random(n) / 2
    return proba(confidence), (random.random(n) >= risk(confidence)).astype(int)


def found_in(n, max_error, risk, draws=1000):
    random = np.random.RandomState(n)
    return [
        selective_threshold(KNOWN, *drawn(n, random, risk), max_error=max_error)
        for _ in range(draws)
    ]


def most(draws, rate=0.05):
    """Violations that 1 of 10,000 runs exceeds by chance."""
    return binom.isf(1e-4, draws, rate)


@pytest.fixture(scope="module")
def classifier():
    return fitted_classifier(max_epochs=8)


@pytest.fixture(scope="module")
def of_few():
    """Give 200 documents: 100 at 0.995 without a mistake, 100 at 0.605 of which 30 are wrong."""
    confidence = np.repeat([0.995, 0.605], 100)
    right = np.repeat([1, 0, 1], [100, 30, 70])
    return selective_threshold(KNOWN, proba(confidence), right)


@pytest.mark.parametrize("n", first_fast([150, 500, 1000]))
@pytest.mark.parametrize("max_error", [0.02, 0.05, 0.1])
def test_the_guarantee_fails_in_at_most_5_percent_of_draws(n, max_error):
    # Every threshold has a true error just above max_error, so that each one chosen breaks it.
    results = found_in(n, max_error, lambda confidence: 1.0001 * max_error)
    assert sum(np.isfinite(found.threshold) for found in results) <= most(len(results))


def test_the_best_of_separate_bounds_would_break_the_guarantee():
    results = found_in(500, 0.05, lambda confidence: 0.050005)
    broken = sum((found.upper_bounds <= 0.05).any() for found in results)
    assert broken > most(len(results))


def test_the_guarantee_holds_if_confidence_reduces_errors():
    # Calibrated: of what reaches t, (1 - t) / 2 are wrong; 0.8 is the right threshold for 10 %.
    results = found_in(2000, 0.1, lambda confidence: 1 - confidence, draws=500)
    thresholds = np.array([found.threshold for found in results])
    assert (thresholds < 0.8).sum() <= most(500)
    assert np.median([found.coverage for found in results]) > 0.25  # of 0.4


def test_figures_worked_by_hand(of_few):
    assert of_few.threshold == 0.61
    assert (of_few.coverage, of_few.error) == (0.5, 0)
    assert of_few.upper_bound == pytest.approx(1 - 0.05 ** (1 / 100))
    assert of_few.n_documents == 200
    frame = of_few.to_frame().set_index("threshold")
    assert frame.loc[0.6].tolist()[:4] == [1.0, 200, 30, 0.15]
    assert frame["tested"].to_numpy().nonzero()[0].tolist() == list(range(1, 41))  # 0.99 to 0.6


def test_thresholds_that_accept_too_few_for_two_mistakes_are_skipped():
    confidence = np.repeat([0.995, 0.905], [100, 900])
    right = np.repeat([0, 1], [20, 980])  # wrong are 20 % of the most confident, and 2 % of all
    found = selective_threshold(KNOWN, proba(confidence), right)
    assert found.threshold == 0
    assert found.thresholds[found.tested][0] == 0.9


def test_nothing_is_accepted_if_no_threshold_passes():
    confidence = np.full(300, 0.9)
    found = selective_threshold(KNOWN, proba(confidence), np.arange(300) % 5 > 0)
    assert found.threshold == np.inf
    assert not (confidence >= found.threshold).any()
    assert found.coverage == 0
    assert np.isnan([found.error, found.upper_bound]).all()
    assert "needs a better model" in found.to_text(width=400)


@pytest.mark.parametrize(("max_error", "needed"), [(0.01, "299"), (0.05, "59"), (0.1, "29")])
def test_too_few_documents_are_refused_with_the_number_needed(max_error, needed):
    X, y = proba(np.full(int(needed), 0.9)), np.ones(int(needed))
    assert selective_threshold(KNOWN, X, y, max_error=max_error).threshold == 0
    with pytest.raises(ValueError, match=rf"too few: for max_error=.* at least {needed} are"):
        selective_threshold(KNOWN, X[1:], y[1:], max_error=max_error)


def test_a_few_training_documents_are_left_out(classifier):
    alone = selective_threshold(classifier, HELD_OUT, Y)
    found = selective_threshold(classifier, [*TEXTS[:3], *HELD_OUT], [*LABELS[:3], *Y])
    assert alone.notes == ()
    assert found.n_accepted.tolist() == alone.n_accepted.tolist()
    assert "3 documents with the words of a training document are left out" in found.to_text()


@pytest.mark.parametrize("is_table", [False, True])
def test_blank_texts_are_never_accepted_as_in_predict_frame(is_table, classifier, tmp_path):
    texts, labels = [*HELD_OUT, *60 * ["", " "]], [*Y, *60 * ["pos", "neg"]]
    if is_table:
        classifier = tiny(text_column="text", max_epochs=8).fit({"text": TEXTS}, LABELS)
        alone = selective_threshold(classifier, [{"text": text} for text in HELD_OUT], Y)
        texts = [{"text": text} for text in texts]
    else:
        alone = selective_threshold(classifier, HELD_OUT, Y)
    found = selective_threshold(classifier, texts, labels)
    assert found.threshold == alone.threshold < 1
    assert (found.n_documents, found.n_blank) == (210, 120)
    assert "120 blank texts are never accepted" in found.to_text()
    save(classifier, tmp_path / "model.han")
    frame = Scorer.load(tmp_path / "model.han").predict_frame(texts, threshold=found.threshold)
    assert frame["accepted"].mean() == found.coverage == alone.coverage * 90 / 210
    with pytest.raises(ValueError, match="20 documents with text are too few"):
        selective_threshold(classifier, texts[70:], labels[70:])


def test_labels_unknown_to_the_model_count_as_mistakes(classifier):
    y = [*Y[:-3], *(3 * ["new"])]
    found, alone = (selective_threshold(classifier, HELD_OUT, each) for each in (y, Y))
    assert found.n_errors[-1] == alone.n_errors[-1] + 3
    assert "3 documents have a label that the model does not know, 'new'" in found.notes[0]


def test_errors_are_counted_for_predict_not_for_the_likeliest_class(classifier):
    tuned = FixedThresholdClassifier(classifier, threshold=0, pos_label="pos").fit(TEXTS, LABELS)
    found = selective_threshold(tuned, HELD_OUT, Y)  # always "pos"
    assert found.n_errors[-1] == 45


class KnownLabels(Known):
    """A classifier of two labels whose probabilities are its input."""

    def __init__(self, n_labels=2):
        self.classes_ = np.arange(n_labels)

    def predict(self, X):
        return (X >= 0.5).astype(int)


def test_thresholds_of_a_label_use_documents_predicted_to_have_it():
    # 200 documents get label 0: those at 0.9 are right, 40 of those at 0.6 are not; none gets 1.
    p = np.column_stack([np.repeat([0.905, 0.605, 0.105], [100, 100, 50]), np.full(250, 0.3)])
    y = np.column_stack([np.repeat([1, 0, 1], [100, 40, 110]), np.ones(250, dtype=int)])
    found = selective_threshold(KnownLabels(), p, y)
    assert list(found) == [0, 1]
    assert (found[0].threshold, found[0].coverage, found[0].n_documents) == (0.61, 0.5, 200)
    assert found[0].confidence_level == 0.975  # for two labels
    assert (found[1].threshold, found[1].coverage, found[1].nearest_error) == (np.inf, 0, None)
    assert "hold together" in found[0].to_text()
    assert "Selective classification: 0 documents with 1" in Page(found[1].to_html()).line


@pytest.mark.parametrize("n", first_fast([300, 1000]))
def test_the_guarantees_of_all_labels_hold_together(n):
    random, broken = np.random.RandomState(n), 0
    for _ in range(500):
        p = 0.5 + random.random((n, 5)) / 2
        y = (random.random((n, 5)) >= 0.1001).astype(int)  # every threshold breaks a promise of .1
        found = selective_threshold(KnownLabels(5), p, y, max_error=0.1)
        broken += any(np.isfinite(each.threshold) for each in found.values())
    assert broken <= most(500)


def test_a_refusal_names_the_smallest_max_error_that_passes():
    p, y = proba(np.full(400, 0.9)), np.repeat([0, 1], [40, 360])
    found = selective_threshold(KNOWN, p, y, max_error=0.05)
    assert (found.threshold, found.nearest_error) == (np.inf, 0.13)
    assert "nearest error that these documents support is 13 %" in found.to_text(width=400)
    assert np.isfinite(selective_threshold(KNOWN, p, y, max_error=0.13).threshold)
    with pytest.raises(ValueError, match=r"10 documents are too few.*max_error=0.259"):
        selective_threshold(KNOWN, p[:10], y[:10])
    assert selective_threshold(KNOWN, p[-10:], y[-10:], max_error=0.26).threshold <= 0.9


def test_documents_are_drawn_with_the_mix_of_given_priors(classifier):
    """Of 45 documents of each class a quarter is kept of the one that has a fifth."""
    changed = with_priors(classifier, {"neg": 0.2, "pos": 0.8})
    found = selective_threshold(changed, HELD_OUT, Y, max_error=0.5)
    assert 45 + 4 <= found.n_documents <= 45 + 20
    used = f"{found.n_documents} documents are used, drawn so that classes have the shares"
    assert found.notes[0].startswith(used)
    rows = np.flatnonzero(Y == "pos")
    X = [HELD_OUT[row] for row in rows]
    with pytest.raises(ValueError, match="No document has the class 'neg'"):
        selective_threshold(changed, X, Y[rows], max_error=0.5)


def test_the_guarantee_names_the_label_frequencies_it_assumes():
    y = np.stack([Y == "pos", Y == "neg"], axis=1).astype(int)
    classifier = with_priors(fitted_classifier().fit(TEXTS, y[: len(TEXTS)]), {0: 0.3})
    found = selective_threshold(classifier, HELD_OUT, y, max_error=0.5)
    assert any("whose labels are as frequent as here" in note for note in found[0].notes)
