"""The latent model: directions of text without labels, and logistic regression on them."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._documents import LabelledDocuments
from sk_han._parts import latent as module
from sk_han._parts.latent import LatentLearner, fit_latent_space, partial_fit_latent_model
from sk_han._parts.ngram_fitting import document_counts
from sk_han._parts.ngram_model import NgramModel
from sk_han._storage.schema import check
from tests.ngram_models import fit_ngram_model
from tests.tiny_targets import classes

pytestmark = pytest.mark.usefixtures("engine")


def random_state():
    return np.random.RandomState(0)


@pytest.fixture(scope="module")
def topics():
    """600 documents of two topics, whose words occur together and in no other document."""
    rng = np.random.RandomState(3)
    targets = np.arange(600) % 2
    nested = [[(rng.randint(2, 32, 7) + 40 * target).tolist()] for target in targets]
    return LabelledDocuments(DocumentArray.from_nested(nested), targets, np.ones(600))


@pytest.fixture
def space(topics):
    return fit_latent_space(topics.documents, (1, 2), random_state())


def model_of(space, data, n_classes=2):
    return LatentLearner(space, data, classes(n_classes)).fit(np.arange(len(data)))


class TestSpace:
    def test_topics_are_the_first_direction(self, topics, space):
        # Words of one topic never meet those of the other: its documents share no direction.
        vectors = space.vectors(topics.documents)[:, :2]
        one, other = vectors[topics.targets == 0], vectors[topics.targets == 1]
        assert np.abs(one @ other.T).max() < 1e-3 * np.abs(one @ one.T).max()

    def test_a_projection_does_not_depend_on_other_documents(self, topics, space):
        unknown = DocumentArray.from_nested([[], [[999]]])
        documents = DocumentArray.concatenate([topics.documents[:9], unknown])
        vectors = space.vectors(documents)
        alone = np.concatenate([space.vectors(documents[[i]]) for i in range(11)])
        np.testing.assert_allclose(vectors, alone, rtol=1e-5, atol=1e-7)
        assert not vectors[9:].any()

    @pytest.mark.parametrize("most", [40, 61, 150])
    def test_the_most_frequent_ngrams_are_kept(self, topics, monkeypatch, most):
        monkeypatch.setattr(module, "_MOST_NGRAMS", most)
        read = fit_latent_space(topics.documents, (1, 2), random_state()).buckets
        monkeypatch.setattr(module, "_MOST_NGRAMS", 1 << 18)
        monkeypatch.setattr(module, "_MOST_WEIGHTS", 7 * most)
        of_classes = fit_latent_space(topics.documents, (1, 2), random_state(), 7).buckets
        np.testing.assert_array_equal(of_classes, read)
        counts = document_counts(topics.documents, (1, 2))
        assert 0.5 * most < len(read) <= most
        assert counts[read].min() > np.delete(counts, read).max()

    @pytest.mark.parametrize(
        "nested", [[], [[]], 30 * [[[2]]], 19 * [[[2, 3]], [[3, 2]]], 30 * [[[2, 3]]]]
    )
    def test_too_little_text_has_no_directions(self, nested):
        documents = DocumentArray.from_nested(nested)
        assert fit_latent_space(documents, (1, 1), random_state()) is None

    def test_only_a_sample_of_a_large_collection_is_read(self, topics, monkeypatch):
        monkeypatch.setattr("sk_han._parts.latent._MOST_WORDS", 1400)
        space = fit_latent_space(topics.documents, (1, 1), random_state())
        whole = fit_latent_space(topics.documents[:200], (1, 1), random_state())
        # 200 documents of 7 words are read, and the one that passes the limit.
        assert np.exp(np.sqrt(space.ratios.max())) <= 201 / 5 * (1 + 1e-6)
        assert len(space.buckets) == pytest.approx(len(whole.buckets), abs=20)


class TestModel:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_scores_are_linear_in_the_vectors(self, topics, space, n_classes):
        # As weights of n-grams and as coefficients of the directions.
        data = LabelledDocuments(topics.documents, np.arange(600) % n_classes, topics.weights)
        model = model_of(space, data[:60], n_classes)
        nothing = np.zeros((1, space.projection.shape[1]))
        coefficients, *_ = np.linalg.lstsq(
            space.projection.astype(float), model.weights / space.ratios, rcond=None
        )
        scores = np.vstack([space.vectors(topics.documents), nothing]) @ coefficients
        scores += model.intercept
        if n_classes == 2:
            scores = np.hstack([-scores, scores]) / 2
        documents = DocumentArray.concatenate([topics.documents, DocumentArray.from_nested([[]])])
        np.testing.assert_allclose(model.logits(documents), scores, rtol=1e-3, atol=1e-3)

    def test_a_state_round_trips_and_wrong_ratios_are_refused(self, topics, space):
        data = LabelledDocuments(topics.documents, np.arange(600) % 3, topics.weights)
        state = (model := model_of(space, data[:60], 3)).to_state()
        check(NgramModel.SCHEMA, state, K=3, B=3)
        logits = NgramModel.from_state(state, classes(3)).logits(topics.documents)
        np.testing.assert_array_equal(logits, model.logits(topics.documents))
        with pytest.raises(ValueError, match=r"ratios has the shape \(3, 1\)"):
            check(NgramModel.SCHEMA, state | {"ratios": np.ones((3, 1), np.float32)}, K=3, B=3)
        state = fit_ngram_model(data[:60], classes(3), (1, 1)).to_state()
        with pytest.raises(ValueError, match="ratios must have 3 columns; got 1"):
            check(NgramModel.SCHEMA, state | {"ratios": state["ratios"][:, :1].copy()}, K=3, B=3)

    @pytest.mark.parametrize(("targets", "n_classes"), [([0] * 40, 1), ([0, 1] * 20, 3)])
    def test_there_is_no_model_without_documents_of_every_class(
        self, topics, space, targets, n_classes
    ):
        data = LabelledDocuments(topics.documents[:40], np.array(targets), np.ones(40))
        assert model_of(space, data, n_classes) is None


class TestPortions:
    def test_later_portions_update_the_model(self, topics):
        # Labels of the portions say the opposite of those that the model began with.
        space = fit_latent_space(topics.documents, (1, 2), random_state())
        model = model_of(space, topics[:10])
        turned = LabelledDocuments(topics.documents, 1 - topics.targets, topics.weights)
        for first in range(10, 410, 100):
            model = partial_fit_latent_model(model, turned[first : first + 100], first + 100)
        found = model.logits(topics.documents[410:]).argmax(axis=1)
        assert (found == turned.targets[410:]).mean() > 0.9


class TestManyLabels:
    def test_few_documents_are_all_learnt_from(self, topics, space):
        rows = np.arange(0, 600, 3)
        model, expected = LatentLearner(space, topics, classes(2)).fit(rows), topics[rows]
        np.testing.assert_array_equal(model.weights, model_of(space, expected).weights)

    def test_only_vectors_of_the_sample_are_computed(self, topics, space, monkeypatch):
        monkeypatch.setattr(module, "_MOST_DOCUMENTS", 100)
        learner = LatentLearner(space, topics, classes(2))
        assert learner.vectors.shape[0] == 100
        assert np.bincount(topics.targets[learner.rows]).tolist() == [50, 50]
        logits = learner.fit(np.arange(600)).logits(topics.documents)
        assert (logits.argmax(axis=1) == topics.targets).mean() > 0.95

    def test_all_documents_of_a_rare_class_are_in_the_sample(self, topics, space, monkeypatch):
        monkeypatch.setattr(module, "_MOST_DOCUMENTS", 100)
        targets = topics.targets.copy()
        targets[[7, 99, 300]] = 2
        data = LabelledDocuments(topics.documents, targets, topics.weights)
        learner = LatentLearner(space, data, classes(3))
        assert np.bincount(targets[learner.rows]).tolist()[2] == 3
        assert len(learner.rows) == 100
