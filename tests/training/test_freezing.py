"""Word vectors that stay as they are: always, or for the first epochs of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_han import DocumentArray
from tests.tiny_models import tiny

X = DocumentArray.from_nested([[[2, 3]], [[3, 2], [2]]] * 6)
Y = [0, 1] * 6
VECTORS = np.arange(20, dtype=np.float32).reshape(4, 5) / 20


class Moves(Callback):
    """Note after each epoch whether the word vectors are no longer those it began with."""

    moves: list[bool]  # of the class: a fit trains with a copy of its callbacks

    def on_epoch_begin(self, net, **kwargs):
        self.before_ = net.weights["embedding.weight"].copy()

    def on_epoch_end(self, net, **kwargs):
        Moves.moves.append(not np.array_equal(net.weights["embedding.weight"], self.before_))


@pytest.fixture
def moves(monkeypatch):
    monkeypatch.setattr(Moves, "moves", [], raising=False)
    return Moves.moves


def classifier(**params):
    defaults = {
        "embedding_dim": 5,
        "max_epochs": 4,
        "batch_size": 4,
        "validation_fraction": None,
        "embedding_init": VECTORS,
        "callbacks": [Moves()],
    }
    return tiny(**{**defaults, **params})


class TestFit:
    @pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
    def test_vectors_move_only_after_the_frozen_epochs(self, moves, optimizer):
        classifier(freeze_embedding=2, optimizer=optimizer).fit(X, Y)
        assert moves == [False, False, True, True]

    @pytest.mark.parametrize(
        ("freeze_embedding", "n_epochs"),
        [(np.True_, 4), (1, 1), (np.int64(1), 1), (np.False_, 0), (False, 0), (0, 0)],
    )
    def test_true_means_all_epochs_and_not_one(self, moves, freeze_embedding, n_epochs):
        classifier(freeze_embedding=freeze_embedding).fit(X, Y)
        assert moves == [False] * n_epochs + [True] * (4 - n_epochs)

    def test_the_other_weights_learn_meanwhile(self):
        params = {"freeze_embedding": True, "callbacks": None, "lr_schedule": "constant"}
        one, three = (classifier(max_epochs=n, **params).fit(X, Y).net_.weights for n in (1, 3))
        same = [name for name in one if np.array_equal(one[name], three[name])]
        assert same == ["embedding.weight"]
        np.testing.assert_array_equal(one["embedding.weight"], VECTORS)

    def test_a_second_fit_with_warm_start_counts_its_own_epochs(self, moves):
        warm = classifier(freeze_embedding=3, warm_start=True).fit(X, Y).fit(X, Y)
        assert moves == [False, False, False, True] * 2
        assert warm.n_iter_ == 4

    def test_partial_fit_counts_the_epochs_of_all_calls(self, moves):
        growing = classifier(freeze_embedding=2)
        for _ in range(3):
            growing.partial_fit(X, Y, classes=[0, 1])
        assert moves == [False, False, True]

    @pytest.mark.parametrize("n_frozen", [1, 2])
    def test_adversarial_noise_begins_when_the_word_vectors_are_unfrozen(self, n_frozen):
        settings = {"max_epochs": 2, "freeze_embedding": n_frozen, "callbacks": None}
        plain, noisy = (
            classifier(adversarial_noise=noise, **settings).fit(X, Y).history_
            for noise in (0.0, 0.3)
        )
        assert plain[0]["train_loss"] == noisy[0]["train_loss"]
        assert (plain[1]["train_loss"] == noisy[1]["train_loss"]) == (n_frozen == 2)

    def test_a_negative_number_of_epochs_is_refused(self):
        with pytest.raises(ValueError, match="freeze_embedding"):
            classifier(freeze_embedding=-1).fit(X, Y)
