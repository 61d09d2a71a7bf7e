"""Constraints, and what every set of options can do."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from sk_han import RNN, Attention, ContextAttention, MultiHopAttention
from sk_han._options import Choice, NetworkOptions, Options

# Every class, with no option at its default.
_OF_ALL = {"size": 19, "per_label": True}
CHANGED = [
    RNN(cell="lstm", num_layers=2, bidirectional=False),
    Attention(**_OF_ALL),
    MultiHopAttention(**_OF_ALL, hops=3, penalty=0.25),
    ContextAttention(**_OF_ALL, direction="bidirectional", summary="sum", gated=True),
    NetworkOptions(
        **{"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7},
        **{"dropout": 0.5, "word_dropout": 0.25, "embedding_dropout": 0.125},
        rnn=RNN(cell="rnn", num_layers=3),
        pooling=MultiHopAttention(size=19, hops=2),
    ),
]
each_class = pytest.mark.parametrize("options", CHANGED, ids=lambda o: type(o).__name__)


@each_class
class TestEveryClass:
    def test_no_option_stands_at_its_default_here(self, options: Options) -> None:
        defaults = type(options)().get_params(deep=False)
        given = options.get_params(deep=False)
        assert [name for name in given if given[name] == defaults[name]] == []

    def test_what_is_allowed_is_checked_without_an_error(self, options: Options) -> None:
        options.check()
        type(options)().check()

    def test_plain_values_go_through_json_and_back(self, options: Options) -> None:
        plain = json.loads(json.dumps(options.to_plain()))
        assert plain["class"] == type(options).__name__
        for reading in (Options, type(options)):
            found = reading.from_plain(plain)
            assert type(found) is type(options)
            assert found == options

    def test_missing_plain_values_are_the_defaults(self, options: Options) -> None:
        assert Options.from_plain({"class": type(options).__name__}) == type(options)()

    def test_a_copy_and_a_clone_are_equal_and_their_own(self, options: Options) -> None:
        for copy in (options.copy(), clone(options)):
            assert type(copy) is type(options)
            assert copy == options
            copy.set_params(**{next(iter(options.get_params())): 1})
            assert copy != options

    def test_options_that_do_not_exist_are_refused(self, options: Options) -> None:
        with pytest.raises(
            ValueError, match=rf"{type(options).__name__} has no options \['nope'\]"
        ):
            Options.from_plain({"class": type(options).__name__, "nope": 1})
        message = rf"Invalid parameter 'nope' for {type(options).__name__}\. Valid.*are: \['"
        with pytest.raises(ValueError, match=message):
            options.copy().set_params(nope=1)
        with pytest.raises(TypeError, match="nope"):
            type(options)(nope=1)

    def test_options_are_told_by_name_alone(self, options: Options) -> None:
        with pytest.raises(TypeError, match="positional"):
            type(options)(1)


class TestNestedParameters:
    def test_they_are_named_with_two_underscores(self) -> None:
        options = NetworkOptions(rnn=RNN(num_layers=2), pooling=Attention(size=19))
        params = options.get_params()
        assert params["rnn"] is options.rnn
        assert params["rnn__num_layers"] == 2
        assert params["pooling__size"] == 19
        assert "rnn__num_layers" not in options.get_params(deep=False)
        assert [name for name in NetworkOptions().get_params() if "__" in name] == []

    def test_they_are_set(self) -> None:
        options = NetworkOptions(rnn=RNN(), pooling=MultiHopAttention())
        found = options.set_params(rnn__cell="lstm", pooling__hops=3, dropout=0.5)
        assert found is options
        assert options == NetworkOptions(
            rnn=RNN(cell="lstm"), pooling=MultiHopAttention(hops=3), dropout=0.5
        )

    def test_an_inner_option_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(ValueError, match="Invalid parameter 'hops' for Attention"):
            NetworkOptions(pooling=Attention()).set_params(pooling__hops=3)

    def test_a_clone_shares_no_inner_options(self) -> None:
        options = NetworkOptions(rnn=RNN(), pooling=Attention())
        for copy in (clone(options), options.copy()):
            copy.set_params(rnn__cell="lstm", pooling__size=19)
            assert options == NetworkOptions(rnn=RNN(), pooling=Attention())


class TestCopy:
    def test_scalars_of_numpy_become_those_of_python(self) -> None:
        given = NetworkOptions(
            embedding_dim=np.int64(3),
            dropout=np.float64(0.5),
            rnn=RNN(cell=np.str_("lstm"), num_layers=np.int32(2), bidirectional=np.bool_(False)),
        )
        copy = given.copy()
        values = [copy.embedding_dim, copy.dropout, *copy.rnn.get_params().values()]
        assert values == [3, 0.5, "lstm", 2, False]
        assert [type(value) for value in values] == [int, float, str, int, bool]
        copy.check()
        assert type(given.embedding_dim) is np.int64
        assert json.loads(json.dumps(given.to_plain())) == given.to_plain()


class TestPlainValues:
    @pytest.mark.parametrize(
        "plain",
        [None, "RNN", [], {}, {"cell": "gru"}, {"class": "Elman"}, {"class": None}],
        ids=repr,
    )
    def test_what_is_no_options_is_refused(self, plain: Any) -> None:
        with pytest.raises(ValueError, match=r"is none of the options \['Attention', "):
            Options.from_plain(plain)

    def test_a_long_text_is_shown_in_part(self) -> None:
        with pytest.raises(ValueError, match="is none of the options") as caught:
            Options.from_plain("x" * 10_000)
        assert len(str(caught.value)) < 300

    def test_options_of_another_family_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"'RNN'.* is none of the options \['Attention', "):
            Attention.from_plain({"class": "RNN"})

    def test_a_class_reads_those_that_derive_from_it(self) -> None:
        found = Attention.from_plain({"class": "MultiHopAttention", "hops": 3})
        assert found == MultiHopAttention(hops=3)

    @pytest.mark.parametrize(
        ("plain", "message"),
        [
            ({"rnn": {"class": "RNN", "num_layers": 0}}, "'num_layers' parameter of RNN .* Got 0"),
            ({"rnn": {"class": "Attention"}}, r"'rnn' parameter of NetworkOptions .* Got Attent"),
            ({"pooling": {"class": "NetworkOptions"}}, r"'pooling' .* Got NetworkOptions\("),
            ({"rnn": {"cell": "gru"}}, "is none of the options"),
            ({"pooling": ["mean"]}, r"'pooling' .* Got \['mean'\]"),
            ({"dropout": {}}, "is none of the options"),
            ({"dropout": math.nan}, "'dropout' .* Got nan"),
        ],
    )
    def test_values_that_are_not_allowed_are_refused(self, plain: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Options.from_plain({"class": "NetworkOptions", **plain})


class TestRange:
    @pytest.mark.parametrize("value", [1, 2, 10**6, np.int64(3)])
    def test_sizes_are_accepted(self, value: Any) -> None:
        assert RNN.constraints()["num_layers"].accepts(value)

    @pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True, np.float64(2), [1], 1j])
    def test_what_is_no_size_is_refused(self, value: Any) -> None:
        assert not RNN.constraints()["num_layers"].accepts(value)

    @pytest.mark.parametrize("value", [0, 0.0, 0.5, 0.999, np.float32(0.5), np.int64(0)])
    def test_shares_are_accepted(self, value: Any) -> None:
        assert NetworkOptions.constraints()["dropout"].accepts(value)

    @pytest.mark.parametrize("value", [1, 1.0, -0.1, math.nan, math.inf, "0.5", None, False, 0.5j])
    def test_what_is_no_share_is_refused(self, value: Any) -> None:
        assert not NetworkOptions.constraints()["dropout"].accepts(value)

    @pytest.mark.parametrize("value", [math.inf, -1e-9, math.nan])
    def test_what_is_no_penalty_is_refused(self, value: Any) -> None:
        assert not MultiHopAttention.constraints()["penalty"].accepts(value)

    def test_it_says_what_is_allowed(self) -> None:
        assert str(RNN.constraints()["num_layers"]) == "an integer of at least 1"
        share = NetworkOptions.constraints()["dropout"]
        assert str(share) == "a number of at least 0 and below 1"


class TestChoice:
    @pytest.mark.parametrize("value", [1, 0, "True", None, 1.0])
    def test_what_equals_a_value_but_is_of_another_type_is_refused(self, value: Any) -> None:
        flag = RNN.constraints()["bidirectional"]
        assert flag.accepts(True)
        assert flag.accepts(False)
        assert not flag.accepts(value)

    @pytest.mark.parametrize("value", ["GRU", "", ["gru"], {"gru"}, np.array(["gru"]), Attention()])
    def test_what_is_no_network_is_refused(self, value: Any) -> None:
        assert not NetworkOptions.constraints()["rnn"].accepts(value)

    def test_objects_of_a_class_and_of_those_that_derive_from_it_are_accepted(self) -> None:
        pooling = NetworkOptions.constraints()["pooling"]
        for value in ("mean", Attention(), MultiHopAttention(), ContextAttention()):
            assert pooling.accepts(value)
        assert not pooling.accepts(Attention)  # the class is no object of it

    def test_it_says_what_is_allowed(self) -> None:
        assert str(Choice(("gru", "rnn"), (RNN,))) == "one of 'gru', 'rnn', RNN(...)"
