"""The options of a network: their values, and with which ones training may go on."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from sk_han import RNN, Attention, HANClassifier, MultiHopAttention
from sk_han.nn import NetworkOptions

# Every class, with no option at its default.
_OF_ALL = {"size": 19, "per_label": True}
CHANGED = [
    RNN(cell="lstm", num_layers=2, bidirectional=False),
    Attention(**_OF_ALL),
    MultiHopAttention(**_OF_ALL, hops=3, penalty=0.25),
    NetworkOptions(
        **{"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7},
        **{"dropout": 0.5, "word_dropout": 0.25, "embedding_dropout": 0.125},
        rnn=RNN(cell="rnn", num_layers=3),
        pooling=MultiHopAttention(size=19, hops=2),
    ),
]
each_class = pytest.mark.parametrize("options", CHANGED, ids=lambda o: type(o).__name__)


@each_class
def test_plain_values_go_through_json_and_back(options: Any) -> None:
    defaults, params = type(options)(), options.get_params(deep=False)
    assert not params.items() & defaults.get_params(deep=False).items()
    plain = json.loads(json.dumps(options.to_plain()))
    restored = type(options).from_plain(plain)
    assert type(restored) is type(options)
    assert restored == options
    assert type(options).from_plain({"class": type(options).__name__}) == defaults


@each_class
def test_a_copy_and_a_clone_are_equal_and_share_nothing(options: Any) -> None:
    for copy in (options.copy(), clone(options)):
        assert type(copy) is type(options)
        assert copy == options
        for name in copy.get_params().keys() - {"rnn", "pooling"}:
            copy.set_params(**{name: "another"})
        assert not copy.get_params().items() & options.get_params().items()


@each_class
def test_options_that_do_not_exist_are_refused(options: Any) -> None:
    name = type(options).__name__
    with pytest.raises(ValueError, match=rf"{name} has no options \['nope'\]"):
        type(options).from_plain({"class": name, "nope": 1})
    with pytest.raises(ValueError, match=rf"Invalid parameter 'nope' for {name}\. Valid.*are: \['"):
        options.copy().set_params(nope=1)


def test_inner_options_are_named_with_two_underscores_and_set() -> None:
    options = NetworkOptions(rnn=RNN(num_layers=2), pooling="mean")
    assert options.get_params()["rnn__num_layers"] == 2
    assert "rnn__num_layers" not in options.get_params(deep=False)
    changes = {"pooling__hops": 3, "pooling": MultiHopAttention(), "rnn__cell": "lstm"}
    assert options.set_params(**changes) is options
    assert options == NetworkOptions(
        rnn=RNN(cell="lstm", num_layers=2), pooling=MultiHopAttention(hops=3)
    )
    with pytest.raises(ValueError, match="Invalid parameter 'gated' for MultiHopAttention"):
        options.set_params(pooling__gated=True)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        (None, r"^None is none of the options \['NetworkOptions'\]"),
        ({"cell": "gru"}, "is none of the options"),
        ({"class": None}, "is none of the options"),
        ({"class": "RNN"}, "'RNN'.* is none of the options"),
        ("x" * 10_000, r"^'x{76}\.\.\. is none of"),
        ({"rnn": {"class": "RNN", "num_layers": 0}}, "'num_layers' parameter of RNN .* Got 0"),
        ({"rnn": {"class": "Attention"}}, r"'rnn' parameter of NetworkOptions .* Got Attent"),
        ({"pooling": {"class": "NetworkOptions"}}, r"'pooling' .* Got NetworkOptions\("),
        ({"rnn": {"cell": "gru"}}, "is none of the options"),
        ({"pooling": ["mean"]}, r"'pooling' .* Got \['mean'\]"),
    ],
)
def test_values_that_are_not_options_are_refused(plain: Any, message: str) -> None:
    if isinstance(plain, dict) and "class" not in plain and "cell" not in plain:
        plain = {"class": "NetworkOptions", **plain}
    with pytest.raises(ValueError, match=message):
        NetworkOptions.from_plain(plain)


SIZE, SHARE = "an integer of at least 1", "a number of at least 0 and below 1"


@pytest.mark.parametrize(
    ("options", "name", "allowed", "refused", "constraint"),
    [
        (RNN, "num_layers", [1, 10**6, np.int64(3)], [0, -1, 1.0, "1", None, True, 1j], SIZE),
        (NetworkOptions, "dropout", [0, 0.5, 0.999, np.float32(0.5)], [1, 1.0, False, "0"], SHARE),
        (NetworkOptions, "word_dropout", [np.int64(0)], [-0.1, math.nan, math.inf, None], SHARE),
        (MultiHopAttention, "penalty", [0, 1e9], [math.inf, -1e-9, math.nan], "a number"),
        (RNN, "bidirectional", [True, False], [1, 0, "True", None], "one of False, True"),
        (RNN, "cell", ["gru"], ["elman", None], "one of 'gru', 'lstm', 'rnn'"),
        (
            NetworkOptions,
            "rnn",
            ["lstm", RNN()],
            ["GRU", "", ["gru"], np.array(["gru"]), Attention()],
            "one of 'gru', 'lstm', 'rnn', RNN(...)",
        ),
        (
            NetworkOptions,
            "pooling",
            ["mean", Attention(), MultiHopAttention()],
            ["sum", RNN(), Attention],
            "one of 'attention', 'mean', 'max', 'last', Attention(...)",
        ),
    ],
)
def test_a_forbidden_value_is_refused_with_the_parameter(
    options: Any, name: str, allowed: list[Any], refused: list[Any], constraint: str
) -> None:
    for value in allowed:
        options(**{name: value}).check()
    for value in refused:
        message = rf"^The {name!r} parameter of {options.__name__} must be {re.escape(constraint)}"
        with pytest.raises(ValueError, match=f"{message}.* Got {re.escape(repr(value))} instead"):
            options(**{name: value}).check()


FITTED = {
    "embedding_dim": 3,
    "rnn": RNN(num_layers=2),
    "pooling": MultiHopAttention(size=19, hops=3),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embedding_dim": 5}, "embedding_dim is 5 now, and 3 in the fitted network"),
        ({"word_hidden": 7}, "word_hidden is 7 now, and 48 in"),
        ({"sentence_hidden": 7}, "sentence_hidden is 7 now, and 48 in"),
        ({"rnn": "gru"}, r"rnn is 'gru' now, and RNN\(.*num_layers=2"),
        ({"pooling": "mean"}, r"pooling is 'mean' now, and MultiHopAttention\("),
        ({"pooling": Attention(size=19)}, r"pooling is Attention\(.* now, and MultiHopAttention\("),
        ({"pooling": MultiHopAttention(size=19, hops=2)}, "pooling is .*hops=2.*hops=3"),
        (
            {"pooling": MultiHopAttention(size=19, hops=3, per_label=True)},
            "pooling is .*per_label=True.* now, and .*'auto'",
        ),
    ],
    ids=repr,
)
def test_another_network_structure_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}.*Set it back, or fit anew"):
        NetworkOptions(**(FITTED | changes)).check_same_structure(NetworkOptions(**FITTED))


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": 0.5, "word_dropout": 0.0, "embedding_dropout": 0.25},
        {"pooling": MultiHopAttention(size=19, hops=3, penalty=0.0)},
        {"pooling": MultiHopAttention(size=np.int64(19), hops=3, per_label=False)},
        {"embedding_dim": np.int64(3), "rnn": RNN(num_layers=np.int64(2))},
    ],
    ids=repr,
)
def test_options_that_do_not_shape_weights_may_change(changes: dict[str, Any]) -> None:
    fitted = NetworkOptions(**FITTED)
    NetworkOptions(**(FITTED | changes)).check_same_structure(fitted)
    assert fitted == NetworkOptions(**FITTED)


def test_the_classifier_repeats_names_and_defaults() -> None:
    options = NetworkOptions().get_params(deep=False)
    params = HANClassifier().get_params(deep=False)
    assert options.keys() - params.keys() == {"embedding_dropout"}  # reached by net_params
    repeated = options.keys() & params.keys()
    assert {n: params[n] for n in repeated} == {n: options[n] for n in repeated}
