"""Plain values: what a result and a file hold of Python's."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import RNN, Attention, MultiHopAttention
from sk_han._rendering.result import plain
from sk_han._storage.model_file import from_plain, to_plain
from tests.crafted_files import archive_of, golden_parts

# Lone surrogates, NUL and private characters too.
ANY_STRING = st.text(st.characters(codec=None, categories=None), max_size=8)
ANY_SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | ANY_STRING
ANY_KEY = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | ANY_STRING
ANY_VALUE = st.recursive(
    ANY_SCALAR,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.lists(inside, max_size=3).map(tuple)
        | st.dictionaries(ANY_KEY, inside, max_size=3)
    ),
    max_leaves=12,
)


class TestPlainValues:
    @pytest.mark.parametrize(
        "value",
        [
            {"tuple": [1]},
            {"dict": [], "float": "nan"},
            RNN(cell="lstm"),
            {"a": (Attention(size=3), [MultiHopAttention(hops=2)])},
        ],
        ids=repr,
    )
    def test_plain_values_are_restored_with_their_type(self, value):
        found = from_plain(to_plain(value))
        assert found == value
        assert repr(found) == repr(value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"class": "Popen"}, "none of the options"),
            ({"class": "RNN", "cells": 3}, r"RNN has no options \['cells'\]"),
            ({"class": "Attention", "size": True}, "'size' parameter of Attention"),
            ({"class": "NetworkOptions", "rnn": {"class": "Attention"}}, "'rnn' parameter"),
        ],
    )
    def test_invalid_options_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            from_plain({"options": options})

    @pytest.mark.parametrize("value", [{1}, b"a", np.ones(2), 1j, object(), len, range(3)])
    def test_unsupported_values_are_refused_with_their_type(self, value):
        with pytest.raises(TypeError, match=type(value).__name__):
            to_plain([{"key": value}])

    @pytest.mark.parametrize("key", [(1, 2), 2**64, -(2**63) - 1])
    def test_a_key_that_loading_would_refuse_is_named(self, key):
        kind = "tuple" if isinstance(key, tuple) else "integer beyond 64 bits"
        with pytest.raises(TypeError, match=f"a key that is an? {kind}"):
            to_plain({key: 1})

    @given(value=ANY_VALUE)
    def test_arbitrary_plain_values_are_restored_from_a_file(self, value):
        description, _ = golden_parts(archive_of({"value": to_plain(value)}, {}))
        # What is printed tells types, the sign of zero and surrogates apart, and nan is alike.
        assert repr(from_plain(description["value"])) == repr(value)


@dataclass
class Cost:
    """Fields of numbers."""

    seconds: float
    epochs: int


def test_plain_values_can_be_written_as_json():
    values = {
        "number": np.float32(0.5),
        "count": np.int64(2),
        "missing": [float("nan"), np.inf, 1.0],
        "labels": np.array(["a", 3, date(2024, 2, 29)], dtype=object),
        "cost": Cost(seconds=1.0, epochs=3),
        "complex": np.array([1 + 0j]),
    }
    assert plain(values) == {
        "number": 0.5,
        "count": 2,
        "missing": [None, None, 1.0],
        "labels": ["a", 3, "2024-02-29"],
        "cost": {"seconds": 1.0, "epochs": 3},
        "complex": ["(1+0j)"],
    }
    assert type(plain(np.float64(0.5))) is float
