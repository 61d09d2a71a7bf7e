"""Stored files of each kind of model keep loading, with the numbers that they were saved with."""

import json

import numpy as np
import pytest

from sk_han import load, save
from sk_han._storage.description import ESTIMATORS
from sk_han.serving import Scorer
from tests.crafted_files import GOLDEN
from tests.encoders_of_sentences import NAMED
from tests.golden.expected import documents_of, expected_of, params_of

NUMBERS = {"probabilities", "word_attention", "contributions", "numbers", "intervals", "novelty"}
NAMES = sorted(path.stem for path in GOLDEN.glob("*.han"))


def golden(name):
    return load(GOLDEN / f"{name}.han", encoder=NAMED)


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


@pytest.mark.filterwarnings("ignore:Column 'district' has 1 value that no two:UserWarning")
class TestEveryFile:
    def test_every_file_names_its_format_and_is_small(self, name):
        content = (GOLDEN / f"{name}.han").read_bytes()
        assert b'{"__metadata__":{"sk_han":"{\\"sha256\\":' in content[:60]
        assert len(content) < 40_000

    def test_every_file_gives_the_stored_numbers(self, found, expected):
        for key in NUMBERS & expected.keys():
            for numbers, stored in zip(found[key], expected[key], strict=True):
                np.testing.assert_allclose(numbers, stored, rtol=1e-5, atol=1e-5)

    def test_every_file_gives_the_stored_words_and_labels(self, found, expected):
        assert found.keys() == expected.keys()
        for exact in expected.keys() - NUMBERS - {"params"}:
            assert found[exact] == expected[exact]

    def test_every_file_gives_the_stored_parameters(self, loaded, expected):
        stored = expected["params"]
        params = params_of(loaded)  # a later release may have more
        assert {n: params.get(n) for n in stored} == stored

    def test_a_file_saved_again_gives_the_same_results(self, name, loaded, found, tmp_path):
        save(loaded, tmp_path / "anew.han")
        assert expected_of(load(tmp_path / "anew.han", encoder=NAMED), documents_of(name)) == found


def test_there_is_a_file_of_each_kind():
    assert len(NAMES) == 10
    with_models = {load(GOLDEN / f"{name}.han", encoder=NAMED).__class__.__name__ for name in NAMES}
    assert with_models == {*ESTIMATORS, "Pipeline"} - {"SentenceEmbedder"}


@pytest.mark.parametrize("name", ["encoder", "labels", "ordered"])
def test_a_scorer_gives_the_stored_numbers(name):
    stored = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))["probabilities"]
    scorer = Scorer.load(GOLDEN / f"{name}.han", encoder=NAMED)
    proba = scorer.predict_proba(documents_of(name))
    np.testing.assert_allclose(proba, stored, rtol=0, atol=1e-5)


class TestWhatComesBack:
    def test_labels_and_vectors_keep_their_types(self):
        assert golden("pipeline").classes_.dtype == object
        assert golden("word_ids").classes_.dtype == np.int16
        assert golden("word_ids").embedding_init.dtype == np.float32

    def test_best_epoch_and_requests_of_a_pipeline_come_back(self):
        classifier = golden("pipeline")["han"]
        best = classifier.history_[classifier.best_epoch_ - 1]
        assert classifier.best_score_ == best["valid_accuracy"]
        assert classifier.get_metadata_routing().fit.requests["sample_weight"] == "weights"

    def test_partial_fit_continues_from_the_stored_counts(self):
        classifier = golden("classifier")
        before = classifier.ngram_model_.counts.n_documents[0]
        classifier.partial_fit(documents_of("classifier")[:3], ["good", "bad", "good"])
        assert classifier.ngram_model_.counts.n_documents[0] == pytest.approx(before + 3)

    @pytest.mark.filterwarnings("ignore:The network is useless:UserWarning")  # in an epoch
    @pytest.mark.filterwarnings("ignore:1 of 4 documents has no words:UserWarning")
    @pytest.mark.parametrize("name", ["classifier", "word_ids"])
    def test_a_warm_start_works_with_the_stored_parameters(self, name):
        classifier = golden(name).set_params(warm_start=True, max_epochs=1, n_iter_no_change=None)
        documents, labels = documents_of(name)[:4], classifier.classes_[[0, 1, 0, 1]]
        assert classifier.fit(documents, labels).n_iter_ == 1
