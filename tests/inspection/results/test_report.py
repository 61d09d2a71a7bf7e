import pytest

from tests.reports import made, made_of_labels


def test_the_risk_coverage_curve_keeps_the_most_confident_documents():
    # Their probabilities are 0.9 (wrong), 0.8, 0.8 (right), 0.7 (wrong), 0.7 (wrong) and 0.6.
    curve = made().risk_coverage
    assert [b.n_documents for b in curve] == [6, 5, 3]  # each number once
    assert [b.accuracy for b in curve] == pytest.approx([1 / 2, 2 / 5, 2 / 3])
    assert [b.confidence for b in curve] == pytest.approx([0.6, 0.7, 0.8])
    assert all(b.low < b.accuracy < b.high for b in curve)
    assert "Risk-coverage curve" in made().to_html()
    assert made_of_labels().risk_coverage == []
    assert "Risk-coverage curve" not in made_of_labels().to_html()
