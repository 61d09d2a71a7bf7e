"""Trainings that end before their time, and what is kept of them."""

import itertools
import signal
import threading

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from skorch.callbacks import Callback

from sk_han import HierarchicalTokenizer, StopAfter, StopOnInterrupt, audit_labels
from tests.tiny_models import LABELS, TEXTS, tiny

N_STEPS = 6  # of each epoch, 18 documents, 3 at a time


class CtrlC(Callback):
    """Press Ctrl-C behind some of the steps, counted from 1."""

    def __init__(self, *steps):
        self.steps = steps

    def __sklearn_clone__(self):
        return CtrlC(*self.steps)

    def on_train_begin(self, net, **kwargs):
        self.n_steps = 0

    def on_batch_end(self, net, training=False, **kwargs):
        self.n_steps += training
        if training and self.n_steps in self.steps:
            signal.raise_signal(signal.SIGINT)


def classifier_of(*callbacks, **params):
    settings = {"max_epochs": 4, "batch_size": 3, "validation_fraction": None}
    return tiny(callbacks=list(callbacks), **settings | params)


def advance_at_each_look(monkeypatch):
    """Replace the clock by one that each look at it advances by a second."""
    seconds = itertools.count(1)
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


@pytest.mark.usefixtures("_ctrl_c")
class TestInterrupt:
    @pytest.mark.parametrize(("step", "n_epochs"), [(1, 1), (6, 1), (8, 2), (24, 4)])
    def test_an_interrupt_ends_the_last_epoch_after_the_current_step(self, step, n_epochs, capsys):
        found = classifier_of(CtrlC(step), StopOnInterrupt()).fit(TEXTS, LABELS)
        assert found.n_iter_ == len(found.history_) == n_epochs
        n_steps = [len(epoch["batches"]) for epoch in found.net_.history]
        assert sum(n_steps) == step
        assert found.fit_summary_.ended == "an interrupt"
        assert "stopped by Ctrl-C" in str(found.fit_summary_)
        assert "Ctrl-C again gives up" in capsys.readouterr().err
        assert found.predict(TEXTS).shape == (18,)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_second_interrupt_aborts_and_keeps_the_earlier_model(self):
        found = classifier_of().fit(TEXTS, LABELS)
        before = found.predict_proba(TEXTS)
        for callbacks in (
            [CtrlC(2), StopOnInterrupt(), CtrlC(2)],
            [StopOnInterrupt(), CtrlC(2, 3), CtrlC(2)],
        ):
            found.set_params(callbacks=callbacks)
            with pytest.raises(KeyboardInterrupt):
                found.fit(TEXTS, LABELS)
            np.testing.assert_array_equal(found.predict_proba(TEXTS), before)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_interrupts_at_epoch_end_let_all_callbacks_run(self):
        class AtTheEnd(Callback):
            def on_epoch_end(self, net, **kwargs):
                signal.raise_signal(signal.SIGINT)

        held_out = {"validation_fraction": 0.3}
        found = classifier_of(AtTheEnd(), StopOnInterrupt(), **held_out).fit(TEXTS, LABELS)
        assert (found.n_iter_, found.best_epoch_) == (1, 1)

    def test_the_callback_does_nothing_in_a_thread(self):
        found = classifier_of(StopOnInterrupt())
        thread = threading.Thread(target=found.fit, args=(TEXTS, LABELS))
        thread.start()
        thread.join()
        assert found.fit_summary_.ended == "all epochs"

    def test_a_pipeline_with_the_callback_keeps_its_model(self):
        last = classifier_of(CtrlC(2), StopOnInterrupt())
        pipeline = make_pipeline(HierarchicalTokenizer(), last)
        assert pipeline.fit(TEXTS, LABELS)[-1].fit_summary_.ended == "an interrupt"

    @pytest.mark.parametrize(
        "fit",
        [
            lambda model: model.fit(TEXTS, LABELS),
            lambda model: GridSearchCV(model, {"lr": [0.01]}, cv=2).fit(TEXTS, LABELS),
            lambda model: audit_labels(model, TEXTS, LABELS),
        ],
        ids=["fit", "search", "audit"],
    )
    def test_without_the_callback_an_interrupt_is_raised(self, fit):
        with pytest.raises(KeyboardInterrupt):
            fit(classifier_of(CtrlC(2)))


class TestTime:
    @pytest.mark.parametrize("lr_schedule", ["one_cycle", "constant"])
    def test_the_epoch_ends_when_the_time_is_over(self, monkeypatch, lr_schedule):
        advance_at_each_look(monkeypatch)
        found = classifier_of(StopAfter(20), max_epochs=100, lr_schedule=lr_schedule)
        found.fit(TEXTS, LABELS)
        n_steps = sum(len(epoch["batches"]) for epoch in found.net_.history)
        assert 5 < n_steps < 20
        assert found.fit_summary_.ended == "the time"
        assert "stopped when the time was over" in str(found.fit_summary_)

    def test_the_schedule_ends_with_the_time(self, monkeypatch):
        advance_at_each_look(monkeypatch)
        found = classifier_of(StopAfter(60), max_epochs=100).fit(TEXTS, LABELS)
        schedule = dict(found.net_.callbacks_)["lr_schedule"].lr_scheduler_
        assert schedule.last_epoch > 0.9 * schedule.total_steps
        assert schedule.get_last_lr()[0] < 0.05 * found.lr

    def test_a_generous_time_does_not_change_the_fit(self):
        found = classifier_of(StopAfter(3600)).fit(TEXTS, LABELS)
        whole = classifier_of().fit(TEXTS, LABELS)
        assert found.fit_summary_.ended == "all epochs"
        np.testing.assert_array_equal(found.predict_proba(TEXTS), whole.predict_proba(TEXTS))

    def test_seconds_must_be_a_positive_finite_number(self):
        assert StopAfter(np.float32(5)).get_params() == {"seconds": 5}
        for seconds in (0, -1, float("nan"), float("inf"), "60", True):
            with pytest.raises(ValueError, match="seconds must be a positive finite number"):
                StopAfter(seconds)
