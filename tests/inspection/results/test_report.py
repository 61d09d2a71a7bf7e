import numpy as np
import pytest

from tests.reports import made, made_of_labels, of_size


def test_a_label_that_the_model_does_not_know_is_a_mistake():
    report = made()
    assert report.right.tolist() == [True, True, False, True, False, False]
    assert report.scores["model"]["accuracy"] == 0.5
    assert report.confusion.tolist() == [[2, 1, 0], [1, 1, 0], [0, 1, 0]]


def test_the_loss_is_that_of_known_labels():
    of_label = np.array([0.8, 0.6, 0.1, 0.8, 0.3])
    assert made().scores["model"]["log_loss"] == pytest.approx(-np.log(of_label).mean())


def test_the_gain_is_the_difference_of_accuracies():
    report = made()
    gain, low, high = report.gain
    # The baseline has 1, 3 and 4 right.
    assert gain == pytest.approx(report.right.mean() - 3 / 6)
    assert low < gain < high
    assert made(baseline=None).gain is None
    assert "baseline" not in made(baseline=None).scores


def test_mistakes_are_counted_by_their_kind():
    report = made(targets=np.array([0, 1, 0, 1, 1, 2]))
    assert report.mixed_up() == [(1, 0, 2), (0, 1, 1), (2, 1, 1)]


def test_the_risk_coverage_curve_is_of_the_most_confident_documents():
    # Their probabilities are 0.9 (wrong), 0.8, 0.8 (right), 0.7 (wrong), 0.7 (wrong) and 0.6.
    curve = made().risk_coverage
    assert [b.n_documents for b in curve] == [6, 5, 3]  # each number once
    assert [b.accuracy for b in curve] == pytest.approx([1 / 2, 2 / 5, 2 / 3])
    assert [b.confidence for b in curve] == pytest.approx([0.6, 0.7, 0.8])
    assert all(b.low < b.accuracy < b.high for b in curve)
    assert "Risk-coverage curve" in made().to_html()
    assert made_of_labels().risk_coverage == []
    assert "Risk-coverage curve" not in made_of_labels().to_html()


def test_bins_of_length_hold_every_document_once():
    report = made()
    assert [(b.fewest_words, b.most_words) for b in report.by_length] == [
        (0, 3), (5, 5), (7, 7), (11, 11),
    ]  # fmt: skip
    assert sum(b.n_documents for b in report.by_length) == 6
    assert sum(b.n_documents * b.accuracy for b in report.by_length) == 3
    assert len(of_size(500, 3).by_length) == 5
    assert made(n_words=None).by_length == []
    assert len(made(n_words=np.full(6, 4)).by_length) == 1
