"""Texts without labels inside of a fit: in portions, enough to pre-train, and their weights."""

import numpy as np
import pytest
import torch

from tests.classifier.test_unlabelled import COMMON, LABELLED, UNLABELLED, UNSEEN, Y, same, small


class Once:
    """Texts that can be read once."""

    def __init__(self, texts):
        self.rows = iter(texts)

    def __iter__(self):
        return self.rows


@pytest.fixture(scope="module")
def fitted():
    return small().fit(LABELLED, Y, X_unlabelled=UNLABELLED)


@pytest.mark.parametrize("form", [iter, Once, lambda texts: np.array(texts, dtype=object)])
def test_unlabelled_texts_in_any_container_give_the_same_model(fitted, monkeypatch, form):
    monkeypatch.setattr("sk_han._validation.documents._PORTION_SIZE", 100)
    same(small().fit(LABELLED, Y, X_unlabelled=form(UNLABELLED)), fitted)


def test_a_warm_start_with_uninformative_text_lowers_the_latent_scale(monkeypatch):
    # Documents with labels alone show no directions.
    monkeypatch.setattr("sk_han._parts.latent._MIN_DOCUMENTS", 20)
    classifier = small(warm_start=True).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
    scale = classifier.latent_scale_
    rng = np.random.RandomState(0)
    texts = [" ".join(rng.choice(COMMON, 12)) for _ in range(540)]
    assert classifier.fit(LABELLED, Y, X_unlabelled=texts).latent_scale_ < scale / 2


@pytest.mark.filterwarnings("ignore:The network is useless")
def test_an_unlabelled_text_weighs_as_much_as_a_labelled_one(monkeypatch):
    # Also where one of these weighs a thousand times as much as the others.
    weights = np.where(np.arange(60) == 0, 1000, 1)
    weights_of_vectors = []
    monkeypatch.setattr(
        "sk_han._fitting.network.initial_vectors",
        lambda init, documents, weights, *rest: weights_of_vectors.append(weights),
    )
    small().fit(LABELLED, Y, sample_weight=weights, X_unlabelled=UNLABELLED)
    labelled, others = np.split(weights_of_vectors[0], [60])
    np.testing.assert_allclose(others, labelled.mean())


class TestPretraining:
    @pytest.fixture(autouse=True)
    def _pretrains(self, monkeypatch):
        """Take a few hundred texts for enough to pre-train the network."""
        monkeypatch.setattr("sk_han._fitting.linear._ENOUGH_TO_PRETRAIN", 100)
        monkeypatch.setattr("sk_han._fitting.network.PRETRAINING_STEPS", 20)

    def test_pretraining_on_halves_of_documents_changes_the_network(self, fitted):
        with_halves, again = (small().fit(LABELLED, Y, X_unlabelled=UNLABELLED) for _ in range(2))
        same(with_halves, again)
        assert not np.array_equal(with_halves.predict_proba(UNSEEN), fitted.predict_proba(UNSEEN))
        assert with_halves.n_iter_ == fitted.n_iter_

    @pytest.mark.thorough
    def test_texts_without_two_halves_do_not_shorten_training(self):
        texts = [*UNLABELLED[:90], *500 * ["word"], *500 * [""]]
        classifier = small(max_epochs="auto").fit(LABELLED, Y, X_unlabelled=texts)
        whole = small(max_epochs="auto").fit(LABELLED, Y)
        assert classifier.n_iter_ == whole.n_iter_  # half of them after pre-training

    def test_losses_without_soft_targets_skip_pretraining(self):
        net_params = {"criterion": torch.nn.MultiMarginLoss}
        small(net_params=net_params).fit(LABELLED, Y, X_unlabelled=UNLABELLED)
