"""What holds for each estimator that is one network: the tagger, and the translator."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from tests import tiny_pairs, tiny_sentences

SOURCES, TARGETS = tiny_pairs.pairs()
SIBLINGS = {
    "sentence": (tiny_sentences.tiny_tagger, tiny_sentences.X, tiny_sentences.Y),
    "pair": (tiny_pairs.tiny, SOURCES, TARGETS),
}
STAGES = {
    "sentence": ["sentences", "set-up", "word vectors", "network"],
    "pair": ["texts", "set-up", "network"],
}


class Interrupt(Callback):
    """Raise an error behind the second step, as Ctrl-C does."""

    def __init__(self, error=KeyboardInterrupt):
        self.error = error

    def on_train_begin(self, net, **kwargs):
        self.n_steps = 0

    def on_batch_end(self, net, **kwargs):
        self.n_steps += 1
        if self.n_steps == 2:
            raise self.error


@pytest.fixture(params=SIBLINGS)
def unit(request):
    return request.param


@pytest.fixture
def fit(unit, one_thread):
    """Fit an estimator with these parameters."""
    make, X, y = SIBLINGS[unit]

    def fitted(sample_weight=None, **params):
        return make(**{"max_epochs": 2, **params}).fit(X, y, sample_weight)

    return fitted


def assert_same_weights(one, other):
    for name, weight in one.net_.weights.items():
        np.testing.assert_array_equal(weight, other.net_.weights[name], err_msg=name)


def test_a_seed_gives_equal_bits_and_touches_no_global_generator(fit):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    one, other = (fit(dropout=0.3) for _ in range(2))
    assert_same_weights(one, other)
    assert torch.equal(before[0], torch.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])


def test_weights_of_samples_count_as_ratios(fit, unit):
    weights = np.linspace(1, 2, len(SIBLINGS[unit][1]))
    assert_same_weights(fit(weights), fit(8 * weights))
    assert np.isfinite(fit(np.full(len(weights), 1e308)).history_[0]["train_loss"])


def test_the_best_epoch_of_held_out_samples_is_kept(fit):
    fitted = fit(validation_fraction=0.4, max_epochs=6)
    scores = [epoch["valid_accuracy"] for epoch in fitted.history_]
    assert fitted.best_score_ == max(scores) == scores[fitted.best_epoch_ - 1]
    assert fitted.n_iter_ == len(scores) == 6


def test_the_summary_describes_the_fit(fit, unit, capsys):
    # Steps below the rounding of the weights: the first epoch stays the best on any processor.
    settings = {"max_epochs": 60, "lr": 1e-20, "verbose": 1}
    fitted = fit(validation_fraction=0.4, n_iter_no_change=2, **settings)
    summary = fitted.fit_summary_
    assert (summary.unit, summary.n_epochs, summary.kept_epoch) == (unit, 3, 1)
    assert summary.n_trained + summary.n_scored == (32 if unit == "sentence" else 27)
    assert (summary.accuracy, fitted.best_epoch_) == (fitted.best_score_, 1)
    assert list(summary.seconds) == STAGES[unit]
    assert 0 < sum(summary.seconds.values()) <= summary.total_seconds
    assert str(summary) in capsys.readouterr().err
    assert f"stopped early because held-out {unit}s no longer improved" in str(summary)


@pytest.mark.parametrize("fraction", [None, 1e-3])
def test_early_stopping_warns_without_held_out_samples(fit, unit, fraction):
    with pytest.warns(UserWarning, match="n_iter_no_change=2 has no effect without held-out"):
        fitted = fit(max_epochs=1, n_iter_no_change=2, validation_fraction=fraction)
    summary = fitted.fit_summary_
    assert (summary.n_scored, summary.accuracy, summary.kept_epoch) == (0, None, None)
    assert f"not measured: no {unit} was held out" in str(summary)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_fit_that_fails_keeps_the_earlier_state(fit, unit, error):
    _, X, y = SIBLINGS[unit]
    fitted = fit(max_epochs=1)
    copy = deepcopy(fitted).set_params(callbacks=[Interrupt(error)])
    with pytest.raises(error):
        copy.fit(X, y)
    with pytest.raises(TypeError):
        copy.fit([*X[:-1], None], y)
    assert_same_weights(copy, fitted)


def test_a_pickled_subclass_predicts_the_same(fit, unit):
    fitted = fit(max_epochs=1)
    kind = Tagger if unit == "sentence" else Translator
    subclass = kind(**fitted.get_params()).from_state(fitted.to_state())
    assert "net_" not in subclass.__getstate__()
    copy = pickle.loads(pickle.dumps(subclass))
    assert copy.predict(SIBLINGS[unit][1]) == fitted.predict(SIBLINGS[unit][1])
    assert (copy.get_params(), copy.history_) == (fitted.get_params(), fitted.history_)


class Tagger(tiny_sentences.SequenceTagger):
    """A subclass with an annotation of its own."""

    entries: dict[str, str]


class Translator(tiny_pairs.AttentionTranslator):
    """The same of a translator."""

    entries: dict[str, str]
