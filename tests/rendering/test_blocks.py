"""Numbers and shades, whatever shows them."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._rendering.blocks import decimal, number, percent, points
from sk_han._rendering.shading import WEAK_SHARE, fold_runs, format_probability, text_rows, too_weak
from tests.by_hand import explained, signed
from tests.html_page import ANYTHING

WRITTEN = {
    percent: {0.073: "7 %", 0.012: "1.2 %", 0.0002: "below 0.1 %", -0.0: "0 %", -0.0182: "−1.8 %"}
    | {1.0: "100 %", 0.9996: "above 99.9 %", 0.9962: "99.6 %", 0.994: "99 %"},
    partial(percent, decimals=1): {0.99975: "above 99.9 %"},
    points: {-0.0: "+0.0", 0.0004: "+0.04", -0.0004: "−0.04", -0.0131: "−1.3"},
    partial(decimal, places=2): {-0.004: "0.00", 0.0: "0.00", -0.005001: "-0.01", 1.006: "1.01"},
    partial(number, signed=True): {0.25: "+0.250", 0.0: "0", 1234.5: "+1,234", -99.96: "-100"}
    | {0.004321: "+0.0043", 8e-06: "+0.000008", -8.1e-05: "-0.000081", 1e-07: "0"},
}


@pytest.mark.parametrize("write", WRITTEN)
def test_numbers_have_no_exponent_and_no_false_0_or_100(write):
    written = {value: write(value) for value in WRITTEN[write]}
    assert str(written).replace("\\xa0", " ") == str(WRITTEN[write])


VALUES = st.lists(st.integers(-50, 50), max_size=30).map(lambda values: np.array(values, float))


@given(VALUES)
def test_weak_words_together_make_up_at_most_the_weak_share(values):
    weak, magnitudes = too_weak(values), np.abs(values)
    assert magnitudes[weak].sum() <= WEAK_SHARE * magnitudes.sum()
    if not weak.all():
        weakest = magnitudes[~weak].min()
        assert not (magnitudes[weak] >= weakest).any()
        assert magnitudes[magnitudes <= weakest].sum() > WEAK_SHARE * magnitudes.sum()


@given(VALUES)
def test_words_are_shaded_by_their_sign_unless_too_weak(values):
    frame = signed(" ".join("w" * len(values)) + "." * bool(len(values)), contributions=values)
    html = frame.to_html().partition('class="han-text"')[2]
    assert html.count('<mark class="p') == ((values > 0) & ~too_weak(values)).sum()
    assert html.count('<mark class="m') == ((values < 0) & ~too_weak(values)).sum()


@given(ANYTHING)
def test_rows_hold_the_whole_text(text):
    for n_read in (None, 0, 1, 2):
        rows = text_rows(explained(text, n_read=n_read))
        assert "".join(piece.text for row in rows for piece in row.pieces) == text


@given(st.lists(st.floats(-1, 1), max_size=40), st.integers(0, 10))
def test_folds_cover_every_sentence_once_and_hide_no_heavy_one(weights, n_open):
    weights = np.array(weights)
    runs = fold_runs(weights, n_open)
    assert [i for run, _ in runs for i in run] == list(range(len(weights)))
    hidden = [abs(weights[i]) for run, is_folded in runs if is_folded for i in run]
    assert len(weights) - len(hidden) >= min(n_open, len(weights))
    assert not hidden or n_open == 0 or max(hidden) <= sorted(abs(weights))[-n_open]


@pytest.mark.parametrize(("run", "is_folded"), [(1, False), (2, False), (3, True)])
def test_runs_of_one_or_two_sentences_are_not_folded(run, is_folded):
    weights = np.array([1.0] + [0.1] * run + [1.0])
    assert fold_runs(weights, n_open=2)[1] == (range(1, 1 + run), is_folded)


@pytest.mark.parametrize(
    ("probability", "threshold", "written"),
    [
        (0.238592, 0.238660, "0.2386 < 0.2387"),
        (0.25, 0.25, "0.250 ≥ 0.250"),
        (0.9, 0.5, "0.900 ≥ 0.500"),
    ],
)
def test_a_probability_near_its_threshold_gets_more_digits(probability, threshold, written):
    explanation = SimpleNamespace(probabilities=[probability], thresholds=[threshold])
    assert format_probability(explanation, 0) == written
