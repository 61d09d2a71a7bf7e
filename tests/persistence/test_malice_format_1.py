"""Files of the first format with a right checksum and wrong content."""

import numpy as np
import pytest

from sk_han import HANClassifier, ModelFormatError
from tests.crafted_files import (
    GOLDEN,
    WHOLE_1,
    archive_of,
    golden_parts,
    loads_or_is_a_format_error,
    paths,
    set_at,
    without,
)

pytestmark = pytest.mark.thorough

MODEL, PARAMS, FITTED = ("model",), ("model", "params"), ("model", "fitted")
HOSTILE = [
    None,
    True,
    -1,
    10**30,
    0.5,
    "",
    "os.system",
    [],
    [[1, "a"]],
    {},
    {"tuple": []},
    {"dict": [["a", 1]]},
    {"float": "inf"},
    {"array": "classes"},
    {"class": "HierarchicalTokenizer"},
    {"state": {}},
    {"options": {"class": "RNN", "num_layers": 10**9}},
]


def archive_1(description, arrays):
    return archive_of(description, arrays, version=1)


def in_network(**options):
    """Give the description and arrays of the golden file, options of its network replaced."""
    description, arrays = golden_parts(WHOLE_1)
    pairs = dict(description["model"]["fitted"]["network"]["dict"]) | options
    pairs = [list(pair) for pair in pairs.items()]
    return set_at(description, (*FITTED, "network", "dict"), pairs), arrays


def test_the_parts_as_they_should_be_load(load_bytes):
    assert isinstance(load_bytes(archive_1(*golden_parts(WHOLE_1))), HANClassifier)


@pytest.mark.parametrize("name", golden_parts(WHOLE_1)[1])
def test_a_missing_array_is_named(load_bytes, name):
    description, arrays = golden_parts(WHOLE_1)
    del arrays[name]
    with pytest.raises(ModelFormatError, match=f"lacks? .*{name}"):
        load_bytes(archive_1(description, arrays))


@pytest.mark.parametrize("name", ["more", "network.weights.output.bias", "ngram_model.n_seen"])
def test_an_array_too_many_is_named(load_bytes, name):
    description, arrays = golden_parts(WHOLE_1)
    with pytest.raises(ModelFormatError, match=name):
        load_bytes(archive_1(description, arrays | {name: np.ones(3)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda array: array[:-1],
        lambda array: array.astype("f2" if array.dtype.kind == "f" else "i2"),
        lambda array: array[..., np.newaxis],
        lambda array: np.zeros(array.shape, "U1"),
    ],
    ids=["shorter", "half", "more axes", "strings"],
)
@pytest.mark.parametrize("name", ["embedding.weight", "ngrams.buckets", "ngrams.ratios"])
def test_an_array_of_another_shape_or_type_is_refused(load_bytes, name, change):
    description, arrays = golden_parts(WHOLE_1)
    arrays[name] = change(arrays[name])
    with pytest.raises(ModelFormatError, match="has the shape"):
        load_bytes(archive_1(description, arrays))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*PARAMS, "optimiser"), "adam", "'optimiser'.*does not know"),
        ((*PARAMS, "linear_ngrams"), None, "'linear_ngrams'.*does not know"),
        ((*PARAMS, "lr"), -1, "'lr' parameter of HANClassifier"),
        ((*PARAMS, "patience"), 0, "'n_iter_no_change' parameter of HANClassifier"),
        ((*PARAMS, "rnn"), "os.system", "'cell' parameter of RNN"),
        ((*PARAMS, "num_layers"), 0, "'num_layers' parameter of RNN"),
        ((*PARAMS, "bidirectional"), 1, "'bidirectional' parameter of RNN"),
        ((*PARAMS, "attention_dim"), 0, "'size' parameter of Attention"),
        ((*PARAMS, "attention_hops"), 0, "'hops' parameter of MultiHopAttention"),
        ((*PARAMS, "context"), "backward", "'direction' parameter of ContextAttention"),
        ((*PARAMS, "pooling"), "sum", "'pooling' parameter"),
        ((*FITTED, "tokenizer"), 3, "tokenizer is no fitted HierarchicalTokenizer"),
        ((*PARAMS, "pretrained_embedding"), {"array": "classes"}, "stands where a value should"),
        ((*PARAMS, "pretrained_embedding"), {"array": "pretrained_embedding"}, "lacks the entry"),
        ((*PARAMS, "net_params"), ["clip_norm"], "net_params of the HANClassifier are no dict"),
        (PARAMS, [], "is a list"),
        ((*FITTED, "network"), {"dict": [["module__n_classes", 2]]}, r"lacks \['vocabulary_size'"),
        ((*FITTED, "network"), 3, "its network is no dict"),
        ((*FITTED, "ngrams"), [1, 3], "the n-gram model is a list"),
        ((*FITTED, "ngrams", "ngram_range"), [3, 1], "have no range"),
        ((*FITTED, "logit_scales"), [1.0], "one number for each model"),
        ((*FITTED, "logit_scales"), {"0": 1.0, "1": 1.0}, "one number for each model"),
        ((*FITTED, "logit_scales"), [1.0, -1.0], "ngram_scale must be a float from 0"),
        ((*FITTED, "logit_scales"), ["1", 1.0], "network_scale must be a float from 0"),
        ((*FITTED, "classes"), ["a", 1], "all strings, all numbers or all booleans"),
        ((*FITTED, "classes"), {"array": "ngrams.weights"}, "lacks the entry"),
        ((*FITTED, "history"), "long", "history"),
        ((*FITTED, "device"), 3, "device"),
        ((*FITTED, "best_epoch"), 1, "'best_epoch'.*does not know"),
        ((*FITTED, "tokenizer", "class"), "HANClassifier", "stands where a value should"),
    ],
)
def test_wrong_content_is_named(load_bytes, path, value, message):
    description, arrays = golden_parts(WHOLE_1)
    with pytest.raises(ModelFormatError, match=message):
        load_bytes(archive_1(set_at(description, path, value), arrays))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("module__embedding_dim", 10**12, "its network needs"),
        ("module__vocabulary_size", 10**12, "its network needs"),
        ("module__word_hidden", 10**6, "its network needs"),
        ("module__sentence_hidden", 2.5, "'sentence_hidden' parameter"),
        ("module__attention_dim", 0, "'size' parameter"),
        ("module__num_layers", 10**9, "arrays for 1000000000 layers"),
        ("module__n_classes", 3, "its network needs"),
        ("module__dropout", 1.5, "'dropout' parameter"),
        ("module__generator", None, "'generator'.*does not know"),
        ("module", "os.system", "'module'.*does not know"),
        ("valid_batch_size", 0, "valid_batch_size of its network must be"),
    ],
)
def test_a_wrong_network_is_refused_before_it_is_made(
    load_bytes, monkeypatch, name, value, message
):
    monkeypatch.setattr("sk_han.fitted_state.net_from_state", None)
    with pytest.raises(ModelFormatError, match=message):
        load_bytes(archive_1(*in_network(**{name: value})))


@pytest.mark.parametrize(
    "path", [MODEL, PARAMS, FITTED, (*FITTED, "network"), (*FITTED, "logit_scales")]
)
def test_a_missing_part_is_named(load_bytes, path):
    description, arrays = golden_parts(WHOLE_1)
    with pytest.raises(ModelFormatError, match=f"lacks \\['{path[-1]}'\\]"):
        load_bytes(archive_1(without(description, path), arrays))


@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("name", ["format_1", "format_1_pipeline", "format_1_word_ids"])
def test_any_wrong_value_anywhere_loads_or_is_a_format_error(load_bytes, name, shift):
    description, arrays = golden_parts((GOLDEN / f"{name}.han").read_bytes())
    classifier = description["model"]
    if name == "format_1_pipeline":
        classifier = classifier["steps"][1][1]
    del classifier["fitted"]["history"][1:]
    for number, path in enumerate(paths(description)):
        value = HOSTILE[(number + 5 * shift) % len(HOSTILE)]
        content = archive_1(set_at(description, path, value), dict(arrays))
        loads_or_is_a_format_error(load_bytes, content)


@pytest.mark.parametrize("steps", [[], [1, 2], [["a"]], [["a", {}], "b"], {"a": 1}, None])
def test_a_pipeline_of_other_steps_is_refused(load_bytes, steps):
    model = {"class": "Pipeline", "params": {}, "steps": steps}
    with pytest.raises(ModelFormatError, match="other steps"):
        load_bytes(archive_1({"versions": {}, "model": model}, {}))
