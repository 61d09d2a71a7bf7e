"""Pickle, save and skops hold one fitted state: what one brings back, all do."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from sk_han import (
    RNN,
    HierarchicalTokenizer,
    MultiHopAttention,
    load,
    save,
)
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier, fitted_pipeline, tiny

OURS = [
    "sk_han._classifier.HANClassifier",
    "sk_han._tokenizer.HierarchicalTokenizer",
    *(f"sk_han._options.{name}" for name in ("RNN", "Attention", "MultiHopAttention")),
]

CLASSIFIERS = {
    "the default": {},
    "no n-grams": {"linear_ngrams": None, "net_params": {"valid_batch_size": 3}},
    "several attentions": {
        "pooling": MultiHopAttention(size=4, hops=3, per_label=True),
        "validation_fraction": None,
        "max_epochs": 2,
    },
    "layers": {"rnn": RNN(cell="lstm", num_layers=2), "pooling": "mean"},
}


def by_pickle(classifier, folder):
    return pickle.loads(pickle.dumps(classifier))


def by_save(classifier, folder):
    save(classifier, folder / "model.han", text_hashes=True)
    return load(folder / "model.han")


def by_skops(model, folder):
    skops = pytest.importorskip("skops.io")
    return skops.loads(skops.dumps(model), trusted=OURS)


def by_state(classifier, folder):
    return type(classifier)(**classifier.get_params(deep=False)).from_state(classifier.to_state())


WAYS = [by_pickle, by_save, by_skops, by_state]
each_way = pytest.mark.parametrize("way", WAYS)


def assert_equal(found, expected, where="state"):
    """Compare nested mappings, lists and arrays, with their types."""
    if isinstance(expected, HierarchicalTokenizer):
        assert found.get_params() == expected.get_params(), where
        found, expected = found.vocabulary_, expected.vocabulary_
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name, part in expected.items():
            assert_equal(found[name], part, f"{where}.{name}")
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, where
        np.testing.assert_array_equal(found, expected, err_msg=where)
    else:
        assert found == expected, where


@pytest.fixture(scope="module", params=first_fast(CLASSIFIERS, 2))
def classifier(request):
    return tiny(**CLASSIFIERS[request.param]).fit(TEXTS, LABELS)


@pytest.fixture(scope="module", params=WAYS)
def restored(request, classifier, tmp_path_factory):
    return request.param(classifier, tmp_path_factory.mktemp("models"))


def test_every_encoding_restores_an_equal_state(classifier, restored):
    assert_equal(restored.to_state(), classifier.to_state())
    assert vars(restored).keys() == vars(classifier).keys()
    for name, value in classifier.get_params(deep=False).items():
        assert type(restored.get_params()[name]) is type(value), name
    assert (restored.rnn, restored.pooling) == (classifier.rnn, classifier.pooling)


@each_way
def test_every_restored_model_continues_training_alike(classifier, way, tmp_path):
    found, expected = (
        way(classifier, tmp_path).partial_fit(TEXTS[:4], LABELS[:4]),
        by_state(classifier, tmp_path).partial_fit(TEXTS[:4], LABELS[:4]),
    )
    np.testing.assert_array_equal(found.predict_proba(UNSEEN), expected.predict_proba(UNSEEN))


@pytest.mark.parametrize("model", [fitted_classifier(), fitted_pipeline()], ids=["alone", "behind"])
def test_skops_asks_for_trust_in_our_classes_alone(model):
    skops = pytest.importorskip("skops.io")
    classifier, tokenizer, _, attention, *_ = OURS
    untrusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert set(untrusted) == {classifier, tokenizer, attention}
    loaded = by_skops(model, None)
    np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), model.predict_proba(UNSEEN))


def test_nothing_is_hidden_from_the_audit_of_skops():
    skops = pytest.importorskip("skops.io")
    with zipfile.ZipFile(io.BytesIO(skops.dumps(fitted_classifier()))) as archive:
        schema = archive.read("schema.json").decode()
        arrays = {name for name in archive.namelist() if name != "schema.json"}
    assert all(name.endswith(".npy") for name in arrays)
    loaders = set()
    json.loads(schema, object_hook=lambda node: loaders.add(node.get("__loader__")))
    kinds = "Object", "Dict", "List", "NdArray", "Json", "Tuple", "Type"
    assert loaders <= {None, *(f"{kind}Node" for kind in kinds)}
