"""A training that is brought to the state of another one."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EpochScoring, LRScheduler

from tests.interrupted_fits import N_STEPS, StopAt, assert_same, classifier_of, file_of, stop_fit
from tests.thorough import first_fast
from tests.tiny_models import LABELS, TEXTS


def goes_on(tmp_path, make, step=2 * N_STEPS + 3):
    """Compare a fit that was stopped with one that was not; `make` gives a new classifier."""
    stop_fit(make(), tmp_path, step=step)
    again = make().fit(TEXTS, LABELS, checkpoint=tmp_path)
    whole = make().fit(TEXTS, LABELS)
    assert_same(again, whole)
    return again, whole


class FallingRate(Callback):
    """Halve the learning rate after some steps, and count these."""

    def on_train_begin(self, net, **kwargs):
        self.n_steps = 0

    def on_batch_end(self, net, training=False, **kwargs):
        self.n_steps += training
        if training and self.n_steps % 7 == 0:
            for group in net.optimizer_.param_groups:
                group["lr"] /= 2


class StoredRate(FallingRate):
    def state_dict(self):
        return {"n_steps": self.n_steps, "tensor": torch.arange(3)}

    def load_state_dict(self, state):
        assert state["tensor"].tolist() == [0, 1, 2]
        self.n_steps = state["n_steps"]


class Unstorable(Callback):
    def state_dict(self):
        return {"file": object()}

    def load_state_dict(self, state):
        raise AssertionError


class TestCallbacksOfTheUser:
    @pytest.mark.thorough
    def test_one_with_state_dict_goes_on(self, tmp_path):
        params = {"lr_schedule": "constant", "lr": 0.05}
        goes_on(tmp_path, lambda: classifier_of(**params, callbacks=[StopAt(), StoredRate()]))

    @pytest.mark.thorough
    def test_one_without_begins_anew(self, tmp_path):
        params = {"lr_schedule": "constant", "lr": 0.05}
        with pytest.raises(AssertionError):
            goes_on(tmp_path, lambda: classifier_of(**params, callbacks=[StopAt(), FallingRate()]))

    @pytest.mark.parametrize(
        "schedule",
        [
            {"policy": torch.optim.lr_scheduler.ReduceLROnPlateau, "patience": 0, "threshold": 9.0},
            {"policy": torch.optim.lr_scheduler.ExponentialLR, "gamma": 0.9, "step_every": "batch"},
            pytest.param(
                {"policy": "StepLR", "step_size": 2, "step_every": "epoch"},
                marks=pytest.mark.thorough,
            ),
        ],
        ids=["plateau", "each step", "steps"],
    )
    def test_schedules_of_skorch_go_on(self, schedule, tmp_path):
        if schedule["policy"] == "StepLR":
            schedule = schedule | {"policy": torch.optim.lr_scheduler.StepLR}
        again, whole = goes_on(
            tmp_path,
            lambda: classifier_of(
                lr_schedule="constant", lr=0.05, callbacks=[StopAt(), LRScheduler(**schedule)]
            ),
        )
        rates = [each.net_.optimizer_.param_groups[0]["lr"] for each in (again, whole)]
        assert rates[0] == rates[1] < 0.05

    @pytest.mark.thorough
    def test_the_best_score_of_an_epoch_scoring_is_kept(self, tmp_path):
        again, _ = goes_on(
            tmp_path,
            lambda: classifier_of(
                callbacks=[StopAt(), EpochScoring(n_epochs, name="epochs", use_caching=False)]
            ),
        )
        assert [epoch["epochs_best"] for epoch in again.net_.history] == [True] + 3 * [False]

    def test_a_state_that_cannot_be_stored_ends_the_fit_at_its_first_step(self, tmp_path):
        classifier = classifier_of(callbacks=[Unstorable()])
        with pytest.raises(TypeError, match=r"can have no checkpoint: a builtins\.object is no"):
            classifier.fit(TEXTS, LABELS, checkpoint=tmp_path)
        assert not file_of(tmp_path).exists()


def n_epochs(net, X, y=None):
    return len(net.history)


class TestOptimizersOfTheUser:
    @pytest.mark.parametrize(
        "optimizer", first_fast([torch.optim.LBFGS, torch.optim.RMSprop, torch.optim.Adagrad])
    )
    def test_those_of_pytorch_go_on(self, optimizer, tmp_path):
        goes_on(
            tmp_path,
            lambda: classifier_of(optimizer=optimizer, lr=0.01, adversarial_noise=0.0),
            step=8,
        )


class TestTheHistory:
    def test_batches_and_counts_are_those_of_a_whole_fit(self, tmp_path):
        again, whole = goes_on(tmp_path, classifier_of)
        for one, other in zip(again.net_.history, whole.net_.history, strict=True):
            assert {**one, "dur": 0} == {**other, "dur": 0}

    def test_what_is_no_plain_value_is_left_out(self, tmp_path):
        def make():
            return classifier_of(callbacks=[RecordsArrays(), StopAt()])

        again, _ = goes_on(tmp_path, make)
        assert ["array" in epoch for epoch in again.net_.history] == [False, False, True, True]
        assert [epoch["text"] for epoch in again.net_.history] == ["some"] * 4


class RecordsArrays(Callback):
    def on_epoch_end(self, net, **kwargs):
        net.history.record("array", np.ones(3))
        net.history.record("text", "some")
