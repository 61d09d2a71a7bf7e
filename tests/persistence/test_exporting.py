"""skops and safetensors: two other routes into files."""

import hashlib
import io
import json
import sys
import zipfile
from importlib.machinery import BuiltinImporter

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sk_han import HierarchicalTokenizer
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.persistence import export_safetensors
from sk_han.training.batches import document_tensors
from sk_han.validation.documents import as_documents
from tests.tiny_models import UNSEEN, fitted_classifier, fitted_pipeline, tiny


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def pipeline():
    return fitted_pipeline()


@pytest.fixture(params=["fitted", "pipeline"])
def model(request):
    return request.getfixturevalue(request.param)


class TestSkops:
    TRUSTED = (
        "sk_han.classifier.HANClassifier",
        "sk_han.options.network.Attention",  # a parameter of the tiny classifier
        "sk_han.tokenizer.HierarchicalTokenizer",
    )

    @pytest.fixture
    def skops(self):
        return pytest.importorskip("skops.io")

    def test_exactly_our_classes_are_to_be_trusted(self, skops, model):
        found = skops.get_untrusted_types(data=skops.dumps(model))
        assert tuple(sorted(found)) == self.TRUSTED

    def test_parameters_that_are_strings_ask_for_no_trust(self, skops):
        found = skops.get_untrusted_types(data=skops.dumps(fitted_classifier(pooling="mean")))
        assert tuple(sorted(found)) == (self.TRUSTED[0], self.TRUSTED[2])

    def test_a_loaded_model_predicts_the_same(self, skops, model):
        loaded = skops.loads(skops.dumps(model), trusted=list(self.TRUSTED))
        np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), model.predict_proba(UNSEEN))

    def test_nothing_is_hidden_from_its_audit(self, skops, fitted):
        with zipfile.ZipFile(io.BytesIO(skops.dumps(fitted))) as archive:
            schema = archive.read("schema.json").decode()
            others = [name for name in archive.namelist() if name != "schema.json"]
        assert all(name.endswith(".npy") for name in others)
        loaders = set(loaders_of(json.loads(schema)))
        assert loaders <= {"ObjectNode", "DictNode", "ListNode", "NdArrayNode", "JsonNode"} | {
            "TupleNode",
            "TypeNode",  # the types of a dict's keys
        }


def loaders_of(tree):
    """Give the kind of every node in the schema of a skops file."""
    if isinstance(tree, dict):
        if "__loader__" in tree:
            yield tree["__loader__"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            yield from loaders_of(item)


class TestSafetensors:
    @pytest.fixture
    def path(self, fitted, tmp_path):
        pytest.importorskip("safetensors")
        path = tmp_path / "weights.safetensors"
        export_safetensors(fitted, path)
        return path

    @pytest.fixture
    def exported(self, path):
        from safetensors import safe_open

        with safe_open(path, "np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118

    def test_the_weights_are_those_of_the_network(self, fitted, exported):
        weights, _ = exported
        assert weights.keys() == fitted.net_.weights.keys()
        for name, weight in fitted.net_.weights.items():
            np.testing.assert_array_equal(weights[name], weight)
            assert weights[name].dtype == np.float32

    def test_the_checksum_is_that_of_the_weights_in_alphabetical_order(self, exported):
        weights, metadata = exported
        content = b"".join(weights[name].tobytes() for name in sorted(weights))
        assert metadata["sha256"] == hashlib.sha256(content).hexdigest()

    def test_pytorch_alone_rebuilds_the_network(self, fitted, exported):
        weights, metadata = exported
        network = HierarchicalAttentionNetwork.from_plain(json.loads(metadata["network"]))
        network.load_state_dict({name: torch.tensor(weight) for name, weight in weights.items()})
        documents = as_documents(UNSEEN, fitted.tokenizer_)
        with torch.inference_mode():
            logits = network.eval()(*document_tensors(documents, "cpu")).numpy()
        np.testing.assert_allclose(logits, fitted.net_.logits(documents), atol=1e-6)

    def test_a_missing_package_is_named_with_its_extra(self, fitted, tmp_path, monkeypatch):
        for name in [name for name in sys.modules if name.startswith("safetensors")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [BuiltinImporter])  # which finds no package
        with pytest.raises(ModuleNotFoundError, match=r'pip install "sk-han\[safetensors\]"'):
            export_safetensors(fitted, tmp_path / "weights.safetensors")

    @pytest.mark.parametrize(
        ("model", "error", "message"),
        [
            (make_pipeline(tiny()), TypeError, r"Pipeline.*pipeline\[-1\]"),
            (HierarchicalTokenizer(), TypeError, "HierarchicalTokenizer"),
            (tiny(), NotFittedError, "not fitted"),
        ],
    )
    def test_what_is_no_fitted_classifier_is_refused(self, tmp_path, model, error, message):
        pytest.importorskip("safetensors")
        with pytest.raises(error, match=message):
            export_safetensors(model, tmp_path / "weights.safetensors")
        assert list(tmp_path.iterdir()) == []
