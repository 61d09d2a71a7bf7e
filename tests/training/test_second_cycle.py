"""A second cycle of epochs, where the network is better than the n-grams or has learnt little."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from tests.tiny_models import tiny

# The first word decides, but one label in ten is wrong, so that no model can be better than one of
# single words. The second word is in no other document, so that its pairs of words say nothing.
N = 200
KINDS = np.tile(["good", "bad"], N // 2)
NAMES = [a + b for a in "abcdefghijklmno" for b in "pqrstuvwxyzäöü"]
TEXTS = [f"{kind} {name}. And so on." for kind, name in zip(KINDS, NAMES[:N], strict=True)]
LABELS = np.where(np.arange(N) % 20 < 2, np.roll(KINDS, 1), KINDS)
HALF = N // 2
VALIDATION = {"X_val": TEXTS[HALF:], "y_val": LABELS[HALF:]}

AUTO = {"max_epochs": "auto", "batch_size": 1, "linear_chars": None}  # two epochs
LEARNS = {"dropout": 0, "word_dropout": 0, "lr": 0.01}
STANDS_STILL = {"lr": 1e-20}


def fitted(**params):
    return tiny(**AUTO | params).fit(TEXTS[:HALF], LABELS[:HALF], **VALIDATION)


def test_a_second_cycle_follows_if_the_network_beats_the_ngrams(capsys):
    model = fitted(linear_ngrams=(2, 2), verbose=1, **LEARNS)
    assert (model.n_iter_, model.fit_summary_.ended) == (6, "two cycles")
    assert "6 epochs, a second cycle included" in str(model.fit_summary_)
    log = capsys.readouterr().err
    assert "The network is better than the n-grams: 4 epochs more\nepoch 3 of 6: " in log


def test_without_a_second_cycle_the_fit_equals_one_cycle():
    automatic, given = (fitted(linear_ngrams=(1, 1), max_epochs=n, **LEARNS) for n in ("auto", 2))
    assert (automatic.n_iter_, automatic.fit_summary_.ended) == (2, "all epochs")
    assert np.array_equal(automatic.predict_proba(TEXTS), given.predict_proba(TEXTS))


def test_a_second_cycle_follows_if_the_network_has_learnt_little(capsys):
    model = fitted(verbose=1, **STANDS_STILL)
    assert (model.n_iter_, model.fit_summary_.ended) == (6, "two cycles")
    assert "The network has learnt little so far: 4 epochs more" in capsys.readouterr().err


@pytest.mark.parametrize(
    "params",
    [
        {"max_epochs": 2},
        {"lr_schedule": "constant"},
        {"callbacks": [Callback()]},
        {"n_iter_no_change": 1},
        {"linear_ngrams": None},
        {"net_params": {"criterion": torch.nn.MultiMarginLoss}},
    ],
    ids=lambda params: next(iter(params)),
)
def test_other_settings_train_for_one_cycle_only(params):
    assert fitted(**STANDS_STILL | params).n_iter_ == 2


def test_no_second_cycle_beyond_20_epochs_or_without_validation():
    assert fitted(**STANDS_STILL | {"batch_size": 16}).n_iter_ == 20
    model = tiny(**AUTO | STANDS_STILL, validation_fraction=None)
    assert model.fit(TEXTS, LABELS).n_iter_ == 2


def test_no_second_cycle_follows_a_warm_start_or_a_portion():
    model = fitted(warm_start=True, **STANDS_STILL)
    assert model.fit(TEXTS[:HALF], LABELS[:HALF], **VALIDATION).fit_summary_.n_epochs == 2
    assert tiny(**AUTO | STANDS_STILL).partial_fit(TEXTS, LABELS, ["bad", "good"]).n_iter_ == 1


def test_word_vectors_can_be_unfrozen_in_the_second_cycle():
    net = fitted(freeze_embedding=3, **STANDS_STILL).net_
    assert net.module_.embedding.weight.requires_grad


@pytest.mark.parametrize(("params", "n_epochs"), [({}, 6 + 12), ({"callbacks": [Callback()]}, 8)])
def test_the_first_cycle_is_shorter_if_a_second_may_follow(params, n_epochs):
    assert fitted(**STANDS_STILL | {"batch_size": 4} | params).n_iter_ == n_epochs
