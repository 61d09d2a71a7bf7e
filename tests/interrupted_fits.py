"""Fits that stop in the middle, and what must be the same when they go on."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_han import Checkpoint
from tests.tiny_models import LABELS, TEXTS, UNSEEN, tiny

N_STEPS = 6  # of each epoch: 16 documents, 3 at a time


class Stopped(Exception):  # noqa: N818  (a stop is no error)
    pass


class StopAt(Callback):
    """Do something at the start of a step or of an epoch, counted over all epochs from 0."""

    step = epoch = None

    @staticmethod
    def stop():
        raise Stopped

    def on_batch_begin(self, net, training=False, **kwargs):
        n_steps = sum("train_loss" in batch for epoch in net.history for batch in epoch["batches"])
        if training and n_steps == StopAt.step:
            StopAt.stop()

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) - 1 == StopAt.epoch:
            StopAt.stop()


class Interrupt(Callback):
    """Raise an error behind the second step, as Ctrl-C does."""

    def __init__(self, error=KeyboardInterrupt, *, never=False):
        self.error, self.never = error, never

    def on_train_begin(self, net, **kwargs):
        self.n_steps = 0

    def on_batch_end(self, net, **kwargs):
        self.n_steps += 1
        if self.n_steps == 2 and not self.never:
            raise self.error


def classifier_of(**params):
    """Make a classifier of four short epochs, and without linear models, which learn after them."""
    settings = {"max_epochs": 4, "batch_size": 3, "n_threads": 1, "linear_ngrams": None}
    return tiny(**settings | {"callbacks": [StopAt()]} | params)


@cache
def whole_fit(**params):
    """Give a classifier that was fitted without a stop."""
    return classifier_of(**params).fit(TEXTS, LABELS)


@contextmanager
def stopping_at(*, step=None, epoch=None):
    """Stop the fit within at a step or the start of an epoch; it must come so far."""
    StopAt.step, StopAt.epoch = step, epoch
    try:
        with pytest.raises(Stopped):
            yield
    finally:
        StopAt.step = StopAt.epoch = None


def stop_fit(classifier, folder, *, minutes=0.0, **place):
    """Fit with checkpoints behind every step, and stop at a place as of `stopping_at`."""
    with stopping_at(**place):
        classifier.fit(TEXTS, LABELS, checkpoint=Checkpoint(folder, minutes))


def file_of(folder):
    return Path(folder) / "checkpoint.han"


def assert_same(one, other, texts=UNSEEN):
    """Compare all bits that two fits have learnt."""
    histories = [
        [{k: v for k, v in epoch.items() if k != "dur"} for epoch in each.history_]
        for each in (one, other)
    ]
    assert histories[0] == histories[1]
    assert one.net_.weights.keys() == other.net_.weights.keys()
    for name, weight in one.net_.weights.items():
        np.testing.assert_array_equal(weight, other.net_.weights[name], err_msg=name)
    for name in ("network_scale_", "ngram_scale_", "latent_scale_", "best_epoch_", "best_score_"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.predict_proba(texts), other.predict_proba(texts))


def main(folder, place, params):
    """Fit in a process that waits to be killed; a file `reached` says that it has come so far."""

    def wait():
        (Path(folder).parent / "reached").touch()
        while True:
            time.sleep(60)

    StopAt.stop = staticmethod(wait)
    place = json.loads(place)
    number = place.pop("file", None)
    if number is not None:  # stop within the writing of the checkpoint of this number
        import sk_han.fitting.checkpoints.fit_checkpoints as module

        written, write = [], module.write_archive

        def write_half(file, *content):
            written.append(None)
            write(file, *content)
            if len(written) == number:
                file.truncate(file.tell() // 2)
                file.flush()
                wait()

        module.write_archive = write_half
    stop_fit(classifier_of(**json.loads(params)), folder, **place)


if __name__ == "__main__":
    # By its module, so that the callback has the name that it has in the process of the tests.
    from tests.interrupted_fits import main as run

    run(*sys.argv[1:])
