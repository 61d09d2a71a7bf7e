"""The checker of fitted states, on states of a few entries."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pytest

from sk_han._options import Choice, Range
from sk_han._storage.schema import (
    Array,
    ByName,
    Field,
    Kind,
    ListOf,
    Schema,
    Size,
    Sizes,
    Variants,
    check,
)

VECTOR = Schema((Field("size", Size("E")), Field("vector", Array("float32", "E"))))


def vector(n: int, size: int | None = None) -> dict[str, Any]:
    return {"size": n if size is None else size, "vector": np.zeros(n, np.float32)}


def refused(kind: Kind, state: Any, message: str, **sizes: int) -> None:
    with pytest.raises(ValueError, match=message):
        check(kind, state, **sizes)


def only(kind: Kind) -> Schema:
    return Schema((Field("it", kind),))


class TestLetters:
    def test_the_numbers_of_capital_letters_are_returned(self) -> None:
        assert check(VECTOR, vector(3)) == check(VECTOR, vector(3), E=3) == {"E": 3}
        refused(VECTOR, vector(3), "its size is 3, and elsewhere in it E is 5", E=5)

    def test_a_letter_is_one_number_in_the_whole_state(self) -> None:
        both = Schema((Field("one", VECTOR), Field("other", VECTOR)))
        assert check(both, {"one": vector(3), "other": vector(3)}) == {"E": 3}
        refused(both, {"one": vector(3), "other": vector(5)}, r"other\.size is 5, .* E is 3")

    def test_a_small_letter_is_one_size_within_its_mapping(self) -> None:
        table = Schema(
            (
                Field("rows", Array("int64", "f")),
                Field("counts", Schema((Field("seen", Array("int64", "f")),))),
            )
        )
        both = Schema((Field("one", table), Field("other", table)))

        def of(n_rows: int, n_counts: int) -> dict[str, Any]:
            return {"rows": np.arange(n_rows), "counts": {"seen": np.arange(n_counts)}}

        assert check(both, {"one": of(3, 3), "other": of(5, 5)}) == {}
        refused(both, {"one": of(3, 3), "other": of(5, 3)}, r"other\.counts\.seen has the shape")


class TestArrays:
    kind = only(Array("float32", "2 E", -1, 1))

    def test_an_array_of_the_declared_shape_and_type_passes(self) -> None:
        assert check(self.kind, {"it": np.ones((2, 3), np.float32)}) == {"E": 3}
        assert check(self.kind, {"it": np.ones((2, 0), np.float32)}) == {"E": 0}

    @pytest.mark.parametrize(
        "value",
        [
            np.ones((3, 3), np.float32),
            np.ones((2, 3, 1), np.float32),
            np.ones((2, 3)),
            np.ones((2, 3), ">f4"),
            [[1.0], [1.0]],
        ],
        ids=["rows", "axes", "double", "bytes", "list"],
    )
    def test_another_shape_or_type_is_refused(self, value: Any) -> None:
        refused(self.kind, {"it": value}, "its it has the shape .* must have .* and float32")

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.nan, "not finite numbers"),
            (np.inf, "not finite numbers"),
            (-1.5, "beyond -1 to 1"),
            (1.5, "beyond -1 to 1"),
        ],
    )
    def test_values_beyond_limits_are_refused(self, value: float, message: str) -> None:
        refused(self.kind, {"it": np.full((2, 3), value, np.float32)}, message)

    @pytest.mark.parametrize("values", [[1, 1], [2, 1]])
    def test_values_that_do_not_increase_are_refused(self, values: list[int]) -> None:
        refused(only(Array("int64", "f", rising=True)), {"it": np.array(values)}, "does not rise")


class TestEntries:
    @pytest.mark.parametrize("state", [None, [], "ab", {1: 2}, 3])
    def test_values_other_than_mappings_are_refused(self, state: Any) -> None:
        refused(VECTOR, state, "its fitted state is not a mapping of names")

    def test_missing_and_superfluous_entries_are_named(self) -> None:
        refused(VECTOR, {"size": 3}, r"its fitted state lacks \['vector'\]$")
        refused(VECTOR, vector(3) | {"evil": 1}, r"its fitted state has \['evil'\] too many$")
        refused(only(VECTOR), {"it": {}}, r"its it lacks \['size', 'vector'\]")

    def test_only_optional_entries_may_be_none(self) -> None:
        check(Schema((Field("size", Size("E"), optional=True),)), {"size": None})
        refused(VECTOR, {"size": None, "vector": None}, "its size must be an integer")

    @pytest.mark.parametrize("value", [0, 2.0, True, "2", None])
    def test_invalid_sizes_are_refused(self, value: Any) -> None:
        refused(VECTOR, vector(3) | {"size": value}, "its size must be an integer of at least 1")

    @pytest.mark.parametrize("kind", [Range(Real, 0, 1), Choice((0.5, None))])
    def test_ranges_and_choices_can_be_kinds_of_fields(self, kind: Kind) -> None:
        check(only(kind), {"it": 0.5})
        refused(only(kind), {"it": 2}, "its it must be .*; got 2")

    def test_every_entry_of_a_list_is_checked(self) -> None:
        check(only(ListOf(VECTOR, length="n")), {"it": [vector(3), vector(3)]}, n=2)
        refused(only(ListOf(VECTOR)), {"it": [vector(3), None]}, r"its it\[1\] is not a mapping")
        refused(only(ListOf(VECTOR)), {"it": {}}, "its it must be a list")
        refused(only(ListOf(VECTOR, length="n")), {"it": []}, "must be a list of 2", n=2)

    def test_every_entry_of_a_mapping_with_arbitrary_keys_is_checked(self) -> None:
        check(only(ByName(VECTOR)), {"it": {"a": vector(3)}})
        refused(only(ByName(VECTOR)), {"it": {"a": vector(3, 5)}}, r"its it\.a\.vector has")

    def test_a_rule_runs_after_all_entries_were_checked(self) -> None:
        def even(state: Any, where: str, sizes: Sizes) -> None:
            if sizes["E"] % 2:
                raise ValueError(f"{state['size']} is odd")

        check(Schema(VECTOR.fields, (even,)), vector(2))
        refused(Schema(VECTOR.fields, (even,)), vector(3), "3 is odd")
        refused(Schema(VECTOR.fields, (even,)), {"size": "3", "vector": None}, "its size must")


class TestVariants:
    kinds = Variants("kind", {"vector": VECTOR, "nothing": Schema(())})

    def test_the_state_names_its_variant(self) -> None:
        assert check(self.kinds, {"kind": "vector", **vector(3)}) == {"E": 3}
        assert check(self.kinds, {"kind": "nothing"}) == {}
        refused(self.kinds, {"kind": "nothing", **vector(3)}, "too many")

    @pytest.mark.parametrize("kind", ["other", None, ["vector"]])
    def test_an_unknown_variant_is_refused_by_name(self, kind: Any) -> None:
        refused(ByName(self.kinds), {"part": {"kind": kind}}, r"part has the kind .*; known here")
