"""Spans of characters that people mark, and the words that they cover; see test_rationales, too."""

from __future__ import annotations

import numpy as np
import pytest

from sk_han.inspection.faithfulness import checked_spans, covered_words

WORDS = np.array([[0, 2], [3, 5], [6, 8], [8, 9]])


def test_words_that_a_span_touches_in_part_are_covered():
    words = covered_words(np.array([[1, 4], [2, 3]]), WORDS)
    assert words.tolist() == [True, True, False, False]


@pytest.mark.parametrize("spans", [{"start": 1}, {1, 2}, [True], [(True, 2)], [{"start": 0}], "ab"])
def test_what_is_no_list_of_spans_is_refused(spans):
    with pytest.raises(TypeError, match="of document 4 must be"):
        checked_spans(spans, 4, 10)


def test_spans_come_in_any_container():
    for spans in [[(0, 2)], ((0, 2),), [[np.int64(0), 2]], np.array([[0, 2]])]:
        assert checked_spans(spans, 0, 10).tolist() == [[0, 2]]
    assert checked_spans([], 0, 0).shape == (0, 2)
