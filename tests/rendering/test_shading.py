import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han.rendering.shading import WEAK_SHARE, shading_of, side_by_side, too_weak
from tests.by_hand import signed

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
    levels = np.array(shading_of(explanation, "contributions").levels)
    assert ((levels != 0) == ~too_weak(values)).all()
    assert (np.sign(levels) * np.sign(values) >= 0).all()


def test_words_of_one_strength_are_all_shaded():
    assert not too_weak(np.full(40, 0.1)).any()


def test_classes_of_one_document_share_the_ends_of_the_scale():
    both = [signed("a b.", contributions=[limit, 0], target="pos") for limit in (1.0, 4.0)]
    weak, strong = side_by_side(both, "contributions")
    assert (weak.word_limit, strong.word_limit) == (4.0, 4.0)
    assert (weak.levels, strong.levels) == ([2, 0], [8, 0])
    assert weak.share(0) == strong.share(0) == pytest.approx(1.0)
