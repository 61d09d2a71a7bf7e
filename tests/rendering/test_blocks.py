"""Numbers and shades, whatever shows them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han._rendering.blocks import (
    decimal,
    number,
    percent,
    points,
)
from sk_han._rendering.shading import (
    WEAK_SHARE,
    folded,
    probability_of,
    rows_of,
    shading_of,
    side_by_side,
    too_weak,
)
from tests.by_hand import explained, signed
from tests.html_page import ANYTHING


@pytest.mark.parametrize(
    ("share", "written"),
    [(0.073, "7 %"), (0.012, "1.2 %"), (0.0002, "below 0.1 %"), (0.0, "0 %")],
)
def test_a_small_share_has_a_decimal(share, written):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == written


def test_what_is_not_the_whole_is_not_written_as_such():
    space = "\N{NO-BREAK SPACE}"
    written = [percent(share).replace(space, "") for share in (1.0, 0.9996, 0.9962, 0.994)]
    assert written == ["100%", "above 99.9%", "99.6%", "99%"]
    assert percent(0.99975, 1) == f"above 99.9{space}%"
    assert percent(-0.0) == f"0{space}%"
    assert percent(-0.0182) == f"\N{MINUS SIGN}1.8{space}%"


def test_points_of_a_difference_are_not_0_unless_it_is():
    minus = "\N{MINUS SIGN}"
    found = [points(difference) for difference in (-0.0, 0.0, 0.0004, -0.0004, -0.0131)]
    assert found == ["+0.0", "+0.0", "+0.04", f"{minus}0.04", f"{minus}1.3"]


def test_what_rounds_to_0_has_no_sign():
    assert [decimal(value, 2) for value in (-0.004, 0.0, -0.005001, 1.006)] == [
        "0.00",
        "0.00",
        "-0.01",
        "1.01",
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.25, "+0.250"), (0.0, "0"), (1234.5, "+1,234"), (-99.96, "-100"), (0.004321, "+0.0043"),
     (8e-06, "+0.000008"), (-8.1e-05, "-0.000081"), (1e-07, "0")],
)  # fmt: skip
def test_a_value_is_written_without_an_exponent(value, written):
    assert number(value, signed=True) == written


VALUES = st.lists(st.integers(-50, 50), max_size=30).map(lambda values: np.array(values, float))


@given(VALUES)
def test_weak_words_hold_no_more_than_their_share_together(values):
    weak = too_weak(values)
    assert np.abs(values[weak]).sum() <= WEAK_SHARE * np.abs(values).sum()


@given(VALUES)
def test_no_weak_word_is_stronger_than_one_that_matters(values):
    weak = too_weak(values)
    if weak.any() and not weak.all():
        assert np.abs(values[weak]).max() < np.abs(values[~weak]).min()


@given(VALUES)
def test_the_next_words_would_hold_more_than_the_share(values):
    weak = too_weak(values)
    if not weak.all():
        next_ones = np.abs(values) <= np.abs(values[~weak]).min()
        assert np.abs(values[next_ones]).sum() > WEAK_SHARE * np.abs(values).sum()


@given(VALUES)
def test_words_are_shaded_unless_too_weak(values):
    words = " ".join("w" * len(values)) + "." if len(values) else ""
    explanation = signed(words, contributions=values)
    levels = np.array(shading_of(explanation).levels)
    assert ((levels != 0) == ~too_weak(values)).all()
    assert (np.sign(levels) * np.sign(values) >= 0).all()


def test_words_of_one_strength_are_all_shaded():
    assert not too_weak(np.full(40, 0.1)).any()


def test_classes_of_one_document_share_the_ends_of_the_scale():
    both = [signed("a b.", contributions=[limit, 0], target="pos") for limit in (1.0, 4.0)]
    weak, strong = side_by_side(both)
    assert (weak.word_limit, strong.word_limit) == (4.0, 4.0)
    assert (weak.levels, strong.levels) == ([2, 0], [8, 0])
    assert weak.share(0) == strong.share(0) == pytest.approx(1.0)


@given(ANYTHING)
def test_rows_give_the_whole_text(text):
    for n_read in (None, 0, 1, 2):
        rows = rows_of(explained(text, n_read=n_read))
        assert "".join(piece.text for row in rows for piece in row.pieces) == text


@given(st.lists(st.floats(-1, 1), max_size=40), st.integers(0, 10))
def test_folds_cover_every_sentence_once_and_hide_no_heavy_one(weights, n_open):
    weights = np.array(weights)
    runs = folded(weights, n_open)
    assert [i for run, _ in runs for i in run] == list(range(len(weights)))
    hidden = [abs(weights[i]) for run, is_folded in runs if is_folded for i in run]
    assert len(weights) - len(hidden) >= min(n_open, len(weights))
    assert not hidden or n_open == 0 or max(hidden) <= sorted(abs(weights))[-n_open]


@pytest.mark.parametrize(("run", "is_folded"), [(1, False), (2, False), (3, True)])
def test_runs_of_one_or_two_sentences_are_not_folded(run, is_folded):
    weights = np.array([1.0] + [0.1] * run + [1.0])
    assert folded(weights, n_open=2)[1] == (range(1, 1 + run), is_folded)


@pytest.mark.parametrize(
    ("probability", "threshold", "written"),
    [
        (0.238592, 0.238660, "0.2386 < 0.2387"),
        (0.25, 0.25, "0.250 ≥ 0.250"),
        (0.9, 0.5, "0.900 ≥ 0.500"),
    ],
)
def test_a_probability_and_its_threshold_are_written_until_they_differ(
    probability, threshold, written
):
    found = SimpleNamespace(probabilities=[probability], thresholds=[threshold])
    assert probability_of(found, 0) == written
