"""Files of a format that is out load for ever."""

import json

import numpy as np
import pytest

from sk_han import load, save
from tests.crafted_files import GOLDEN
from tests.golden.make_format_1 import documents_of, expected_of, params_of

NAMES = sorted(path.stem for path in GOLDEN.glob("*.han"))


def golden(name):
    return load(GOLDEN / f"{name}.han")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def loaded(name):
    return golden(name)


@pytest.fixture(scope="module")
def expected(name):
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def found(name, loaded):
    return expected_of(loaded, documents_of(name))


class TestEveryFile:
    def test_it_gives_the_stored_numbers(self, found, expected):
        for key in {"probabilities", "word_attention"} & expected.keys():
            for numbers, stored in zip(found[key], expected[key], strict=True):
                np.testing.assert_allclose(numbers, stored, rtol=0, atol=1e-5)

    def test_it_gives_the_stored_words_and_labels(self, found, expected):
        for exact in ("word_spans", "word_ids", "classes"):
            assert found.get(exact) == expected.get(exact)

    def test_it_gives_the_stored_parameters(self, loaded, expected):
        params = params_of(loaded)  # a later release may have more
        assert {name: params.get(name) for name in expected["params"]} == expected["params"]

    def test_saved_anew_it_gives_the_same(self, name, loaded, found, tmp_path):
        save(loaded, tmp_path / "anew.han")
        assert expected_of(load(tmp_path / "anew.han"), documents_of(name)) == found

    def test_it_is_small(self, name):
        assert (GOLDEN / f"{name}.han").stat().st_size < 30_000


def test_there_is_a_file_of_each_kind():
    assert NAMES == ["format_1", "format_1_pipeline", "format_1_tokenizer", "format_1_word_ids"]


class TestFirstFormat:
    """What is printed alike may still be of another type, or not have reached its place."""

    def test_what_they_were_trained_without_is_no_parameter_of_theirs(self):
        assert golden("format_1").adversarial_noise == 0.0

    def test_parameters_of_the_net_reach_the_network(self):
        assert golden("format_1").net_.module_.max_words == 50

    def test_the_network_and_labels_of_a_pipeline_come_back(self):
        classifier = golden("format_1_pipeline")["han"]
        assert classifier.classes_.dtype == object
        assert classifier.net_.restoring_params["module__rnn"] == "lstm"
        assert classifier.ngram_channel_ is None

    def test_metadata_requests_of_a_pipeline_come_back(self):
        requests = golden("format_1_pipeline")["han"].get_metadata_routing().fit.requests
        assert requests["X_val"] is True
        assert requests["sample_weight"] == "weights"

    def test_the_vocabulary_of_a_tokenizer_comes_back(self):
        expected = {"film": 2, "tr\u00e8s": 3, "\ud800": 5, "long\u2026": 7}
        assert golden("format_1_tokenizer").vocabulary_ == expected

    def test_vectors_and_labels_of_word_ids_come_back(self):
        classifier = golden("format_1_word_ids")
        assert classifier.tokenizer_ is None
        assert classifier.classes_.dtype == np.int16
        assert classifier.pretrained_embedding.dtype == np.float32
