"""skops, another route into files."""

import io
import json
import zipfile

import numpy as np
import pytest

from tests.tiny_models import UNSEEN, fitted_classifier, fitted_pipeline


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
        "sk_han._classifier.HANClassifier",
        "sk_han._options.Attention",  # a parameter of the tiny classifier
        "sk_han._tokenizer.HierarchicalTokenizer",
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
