"""The options of a network: what is refused, and with which ones training may go on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sk_han import RNN, Attention, ContextAttention, HANClassifier, MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork, NetworkOptions
from sk_han.nn._encoders import shapes_of


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (RNN(cell="elman"), "cell"),
        (RNN(num_layers=0), "num_layers"),
        (RNN(bidirectional=1), "bidirectional"),
        (Attention(size=0), "size"),
        (MultiHopAttention(hops=0), "hops"),
        (MultiHopAttention(penalty=-1), "penalty"),
        (MultiHopAttention(size=1.5), "size"),
        (ContextAttention(direction="both"), "direction"),
        (ContextAttention(summary="max"), "summary"),
        (ContextAttention(gated="yes"), "gated"),
        (NetworkOptions(embedding_dim=0), "embedding_dim"),
        (NetworkOptions(word_hidden=None), "word_hidden"),
        (NetworkOptions(sentence_hidden=-7), "sentence_hidden"),
        (NetworkOptions(rnn="elman"), "rnn"),
        (NetworkOptions(pooling="sum"), "pooling"),
        (NetworkOptions(pooling=RNN()), "pooling"),
        (NetworkOptions(dropout=1), "dropout"),
        (NetworkOptions(word_dropout=1.0), "word_dropout"),
        (NetworkOptions(embedding_dropout=-0.1), "embedding_dropout"),
        (NetworkOptions(rnn=RNN(cell="elman")), "rnn__cell"),
        (NetworkOptions(pooling=Attention(size=0)), "pooling__size"),
    ],
    ids=repr,
)
def test_a_value_that_is_not_allowed_is_refused_with_its_name(options: Any, name: str) -> None:
    outer, _, inner = name.partition("__")
    own = getattr(options, outer) if inner else options
    constraint, value = own.constraints()[inner or outer], options.get_params()[name]
    message = (
        f"The {inner or outer!r} parameter of {type(own).__name__} must be {constraint}. "
        f"Got {value!r} instead."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        options.check()


class TestStrings:
    @pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
    def test_a_cell_stands_for_one_layer_in_both_directions(self, cell: str) -> None:
        assert NetworkOptions(rnn=cell).recurrent == RNN(cell=cell)

    def test_a_recurrent_network_is_itself(self) -> None:
        rnn = RNN(num_layers=3)
        assert NetworkOptions(rnn=rnn).recurrent is rnn

    def test_attention_stands_for_that_of_the_paper(self) -> None:
        assert NetworkOptions().attention == Attention()
        pooling = MultiHopAttention(hops=3)
        assert NetworkOptions(pooling=pooling).attention is pooling

    @pytest.mark.parametrize("pooling", ["mean", "max", "last"])
    def test_other_poolings_have_no_attention(self, pooling: str) -> None:
        assert NetworkOptions(pooling=pooling).attention is None


FITTED = {
    "embedding_dim": 3,
    "rnn": RNN(num_layers=2),
    "pooling": MultiHopAttention(size=19, hops=3),
}


class TestSameStructure:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"embedding_dim": 5}, "embedding_dim is 5 now, and 3 in the fitted network"),
            ({"word_hidden": 7}, "word_hidden is 7 now, and 48 in"),
            ({"sentence_hidden": 7}, "sentence_hidden is 7 now, and 48 in"),
            ({"rnn": "gru"}, r"rnn is 'gru' now, and RNN\(.*num_layers=2"),
            ({"rnn": RNN(cell="lstm", num_layers=2)}, "rnn is RNN.*'lstm'.* now, and RNN.*'gru'"),
            ({"rnn": RNN(num_layers=2, bidirectional=False)}, "rnn is .*=False.* now, and .*=True"),
            ({"pooling": "attention"}, r"pooling is 'attention' now, and MultiHopAttention\("),
            ({"pooling": "mean"}, r"pooling is 'mean' now, and MultiHopAttention\("),
            ({"pooling": MultiHopAttention(size=17, hops=3)}, "pooling is .*size=17.*size=19"),
            ({"pooling": MultiHopAttention(size=19, hops=2)}, "pooling is .*hops=2.*hops=3"),
            (
                {"pooling": MultiHopAttention(size=19, hops=3, per_label=True)},
                "pooling is .*per_label=True.* now, and .*'auto'",
            ),
        ],
        ids=repr,
    )
    def test_another_structure_is_refused(self, changes: dict[str, Any], message: str) -> None:
        fitted = NetworkOptions(**FITTED)
        given = NetworkOptions(**(FITTED | changes))
        with pytest.raises(ValueError, match=f"^{message}.*Set it back, or fit anew"):
            given.check_same_structure(fitted)

    @pytest.mark.parametrize(
        "change", [{"direction": "bidirectional"}, {"summary": "sum"}, {"gated": True}]
    )
    def test_another_context_is_refused(self, change: dict[str, Any]) -> None:
        given, fitted = (NetworkOptions(pooling=ContextAttention(**c)) for c in (change, {}))
        with pytest.raises(ValueError, match=r"^pooling is ContextAttention\("):
            given.check_same_structure(fitted)

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"dropout": 0.5, "word_dropout": 0.0, "embedding_dropout": 0.25},
            {"pooling": MultiHopAttention(size=19, hops=3, penalty=0.0)},
            {"pooling": MultiHopAttention(size=19, hops=3, per_label=False)},
            {"embedding_dim": np.int64(3)},
            {"rnn": RNN(num_layers=np.int64(2))},
            {"pooling": MultiHopAttention(size=np.int64(19), hops=3)},
        ],
        ids=repr,
    )
    def test_what_does_not_change_the_weights_may_change(self, changes: dict[str, Any]) -> None:
        given = NetworkOptions(**(FITTED | changes))
        given.check_same_structure(NetworkOptions(**FITTED))

    @pytest.mark.parametrize(
        ("short", "written_out"),
        [
            ({"rnn": "lstm"}, {"rnn": RNN(cell="lstm")}),
            ({"pooling": "attention"}, {"pooling": Attention()}),
        ],
    )
    def test_a_string_is_what_it_stands_for(
        self, short: dict[str, Any], written_out: dict[str, Any]
    ) -> None:
        short_options, options = NetworkOptions(**short), NetworkOptions(**written_out)
        short_options.check_same_structure(options)
        options.check_same_structure(short_options)

    def test_neither_side_is_changed(self) -> None:
        pooling = MultiHopAttention(penalty=0.25)
        options = NetworkOptions(pooling=pooling)
        options.check_same_structure(options.copy())
        assert pooling == MultiHopAttention(penalty=0.25)


def test_the_classifier_repeats_names_and_defaults() -> None:
    options = NetworkOptions().get_params(deep=False)
    params = HANClassifier().get_params(deep=False)
    assert options.keys() - params.keys() == {"embedding_dropout"}  # reached by net_params
    repeated = options.keys() & params.keys()
    assert {n: params[n] for n in repeated} == {n: options[n] for n in repeated}


SIZES = {"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7}


@pytest.mark.parametrize(
    "structure",
    [
        {},
        {"rnn": "lstm"},
        {"rnn": RNN(num_layers=3)},
        {"rnn": RNN(cell="rnn", num_layers=2, bidirectional=False)},
        {"rnn": RNN(bidirectional=False)},
        {"pooling": Attention(size=13)},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "last", "rnn": RNN(bidirectional=False)},
        {"pooling": MultiHopAttention(size=13, hops=1, per_label=True)},
        {"pooling": MultiHopAttention(size=13, hops=2)},
        {"pooling": ContextAttention(size=13)},
        {"pooling": ContextAttention(size=13, gated=True)},
        {
            "pooling": ContextAttention(size=13, direction="bidirectional"),
            "rnn": RNN(num_layers=2),
        },
        {"pooling": ContextAttention(size=13, direction="bidirectional", gated=True)},
    ],
    ids=str,
)
def test_shapes_without_memory_are_those_of_the_network(structure):
    network = HierarchicalAttentionNetwork(11, 2, **SIZES, **structure)
    expected = [(name, tuple(weight.shape)) for name, weight in network.state_dict().items()]
    sizes = {"vocabulary_size": 11, "n_classes": 2, **SIZES, **structure}
    assert list(shapes_of(HierarchicalAttentionNetwork, **sizes).items()) == expected


def test_shapes_of_petabytes_take_no_memory():
    sizes = {"vocabulary_size": 10**9, "n_classes": 2, "embedding_dim": 10**6}
    shapes = shapes_of(HierarchicalAttentionNetwork, **sizes)
    assert shapes["embedding.weight"] == (10**9, 10**6)


@pytest.mark.parametrize("size", [10**18, 10**30])
def test_sizes_beyond_all_numbers_are_refused(size):
    with pytest.raises(ValueError, match="a network of its sizes cannot be created"):
        shapes_of(HierarchicalAttentionNetwork, vocabulary_size=size, n_classes=size)
