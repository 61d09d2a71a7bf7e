"""HANClassifier in a process group: real processes over gloo."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from skorch.callbacks import Callback

import sk_han
from sk_han import HANClassifier, StopAfter, StopOnInterrupt
from sk_han.datasets import make_reviews
from tests.process_group import ProcessGroup
from tests.tiny_models import LABELS, TEXTS, tiny

ROOT = Path(__file__).parents[2]


def fitted(params, texts=TEXTS, labels=LABELS, weights=None):
    return tiny(**params).fit(texts, labels, sample_weight=weights)


def described(params, texts=TEXTS, labels=LABELS):
    """What each rank has after a fit: probabilities and history, or its error."""
    classifier = fitted(params, texts, labels)
    try:
        return classifier.predict_proba(texts), classifier.history_
    except NotFittedError as error:
        return error


class Press(Callback):
    """Press Ctrl-C in the third epoch, or do nothing."""

    def __init__(self, here):
        self.here = here

    def on_batch_end(self, net, training=False, **kwargs):
        if training and self.here and len(net.history) == 3:
            os.kill(os.getpid(), signal.SIGINT)


def ended(callbacks):
    """Why training ended, and behind how many epochs; None without a model."""
    classifier = tiny(max_epochs=400, callbacks=callbacks).fit(TEXTS, LABELS)
    try:
        return classifier.fit_summary_.ended, classifier.n_iter_
    except AttributeError:
        return None


def fitted_twice(params):
    classifier = fitted(params)
    return classifier.fit(TEXTS, LABELS)


def partly_fitted(params):
    return tiny(**params).partial_fit(TEXTS, LABELS, classes=["neg", "pos"])


SAME_AS_ALONE = {"dropout": 0.0, "word_dropout": 0.0, "optimizer": "sgd", "max_epochs": 3}


def test_the_next_fit_without_a_group_forgets_the_ranks():
    classifier = tiny()
    vars(classifier)["_rank"] = "rank 1 of 2"
    with pytest.raises(NotFittedError, match="rank 1 of 2"):
        classifier.predict(TEXTS)
    assert len(classifier.fit(TEXTS, LABELS).predict(TEXTS)) == len(TEXTS)


@pytest.mark.thorough
class TestFit:
    @pytest.mark.parametrize("engine", ["numba", "torch"])
    def test_the_first_rank_has_the_model_of_a_single_process(self, group, engine):
        params = {**SAME_AS_ALONE, "engine": engine, "batch_size": 5, "validation_fraction": 0.4}
        alone = fitted(params)
        (probabilities, history), _ = group.run(described, params)
        np.testing.assert_allclose(probabilities, alone.predict_proba(TEXTS), atol=1e-4)
        names = ["train_loss", "valid_loss", "valid_accuracy"]
        for found, expected in zip(history, alone.history_, strict=True):
            assert [found[n] for n in names] == pytest.approx([expected[n] for n in names], 1e-3)

    @pytest.mark.parametrize("first", [True, False])
    def test_the_time_of_one_rank_ends_training_on_all(self, group, first):
        in_order = 1 if first else -1
        callbacks = [[StopAfter(0.1)], [StopAfter(1000)]][::in_order]
        (why, n_epochs), other = group.run(ended, callbacks)
        assert (why, other) == ("the time", None)
        assert n_epochs < 400

    @pytest.mark.skipif(os.name == "nt", reason="Ctrl-C goes to all processes of a console")
    @pytest.mark.parametrize("first", [True, False])
    def test_an_interrupt_of_one_rank_ends_training_on_all(self, group, first):
        callbacks = [[StopOnInterrupt(), Press(first)], [StopOnInterrupt(), Press(not first)]]
        assert group.run(ended, callbacks) == [("an interrupt", 3), None]

    def test_the_other_rank_says_where_the_model_is(self, group):
        _, error = group.run(described, {})
        assert isinstance(error, NotFittedError)
        assert "rank 1 of 2" in str(error)
        assert "get_rank() == 0" in str(error)

    def test_without_a_seed_all_ranks_draw_the_same(self, group):
        first, second = group.run(described, {"random_state": None, "batch_size": 3})
        assert isinstance(first, tuple)
        assert isinstance(second, NotFittedError)

    def test_with_unlabelled_text_the_network_is_pre_trained_together(self, group):
        first, second = group.run(fitted_with_unlabelled)
        assert np.isfinite(first).all()
        assert second is None

    def test_the_other_rank_shows_no_progress(self, group):
        first, second = group.run(progress)
        assert "epoch 1" in first
        assert second == ""


def fitted_with_unlabelled():
    import sk_han.fitting.linear

    sk_han.fitting.linear._ENOUGH_TO_PRETRAIN = 10
    classifier = tiny(linear_ngrams=(1, 1)).fit(TEXTS, LABELS, X_unlabelled=TEXTS)
    return getattr(classifier, "net_", None) and classifier.predict_proba(TEXTS)


def progress():
    import contextlib
    import io

    with contextlib.redirect_stderr(io.StringIO()) as written:
        fitted({"verbose": 1})
    return written.getvalue()


def errors_of(results):
    assert all(isinstance(result, Exception) for result in results), results
    assert len({type(result) for result in results}) == 1
    return str(results[0])


@pytest.mark.thorough
class TestRefusals:
    def test_different_parameters_are_named(self, group):
        message = errors_of(group.run(described, [{"lr": 0.01}, {"lr": 0.02}]))
        assert "lr: 0.01 on rank 0, 0.02 on rank 1" in message

    def test_different_seeds_are_refused(self, group):
        message = errors_of(group.run(described, [{"random_state": 1}, {"random_state": 2}]))
        assert "random_state" in message

    @pytest.mark.parametrize("change", [TEXTS[::-1], TEXTS[:-1] + ["Another good day."]])
    def test_different_documents_are_refused(self, group, change):
        message = errors_of(group.run(described, {}, *inputs_of(TEXTS, change)))
        assert "the documents: " in message

    def test_device_threads_and_verbosity_may_differ(self, group):
        first, _ = group.run(described, [{"verbose": 0, "n_threads": 1}, {"verbose": 1}])
        assert isinstance(first, tuple)

    def test_bad_data_on_one_rank_ends_the_others(self, group):
        lost, failed = group.run(described, {}, *inputs_of(TEXTS, [None, *TEXTS[1:]]))
        assert isinstance(failed, TypeError)
        assert isinstance(lost, RuntimeError)

    def test_a_warm_start_of_the_first_rank_alone_is_refused(self, group):
        message = errors_of(group.run(fitted_twice, {"warm_start": True}))
        assert "a fitted model to go on from: True on rank 0, False on rank 1" in message

    def test_partial_fit_is_refused(self, group):
        message = errors_of(group.run(partly_fitted, {}))
        assert "partial_fit learns in a single process" in message


def inputs_of(*texts):
    """Arguments of `described`: texts of each rank, and the same labels."""
    return list(texts), [LABELS[: len(each)] for each in texts]


def fitted_and_interrupted(folder):
    """A fit that takes long, and says when it has begun to learn."""

    class Begun(Callback):
        def on_epoch_end(self, net, **kwargs):
            (folder / "begun").touch()

    return fitted({"max_epochs": 10_000_000, "callbacks": [Begun()]})


@pytest.mark.thorough
def test_a_killed_rank_ends_the_others(tmp_path):
    with ProcessGroup(3, tmp_path) as group:
        group.start(fitted_and_interrupted, tmp_path)
        while not (tmp_path / "begun").exists():
            assert all(process.is_alive() for process in group.processes)
            time.sleep(0.01)
        group.processes[1].kill()
        for rank in (0, 2):
            error = group.result(rank, timeout=20)
            assert isinstance(error, RuntimeError)
            assert f"Rank {rank} lost the other 2 of 3 processes" in str(error)


class DiesOnce(Callback):
    """Ends the process of rank 1 at the start of the fourth epoch, once."""

    def __init__(self, folder):
        self.folder = folder

    def on_epoch_begin(self, net, **kwargs):
        died = self.folder / "died"
        if len(net.history) == 4 and torch.distributed.get_rank() == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def fitted_with_checkpoint(params, folder):
    classifier = tiny(**params, callbacks=[DiesOnce(folder)])
    classifier.fit(TEXTS, LABELS, checkpoint=folder / "checkpoint")
    return getattr(classifier, "net_", None) and (classifier.net_.weights, classifier.history_)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals that end a process")
def test_the_checkpoint_of_a_fit_that_lost_a_rank_is_whole(tmp_path):
    params = {**SAME_AS_ALONE, "max_epochs": 6, "batch_size": 5}
    results = []
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
        with ProcessGroup(2, tmp_path / attempt) as group:
            group.start(fitted_with_checkpoint, params, tmp_path)
            results.append(group.result(0))
    assert isinstance(results[0], RuntimeError)
    weights, history = results[1]
    assert [epoch["epoch"] for epoch in history] == [1, 2, 3, 4, 5, 6]
    alone = fitted(params)
    for name, expected in alone.net_.weights.items():
        np.testing.assert_allclose(weights[name], expected, atol=1e-4, err_msg=name)
    assert list((tmp_path / "checkpoint").iterdir()) == []  # the fit is whole


@pytest.mark.thorough
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_train_together(tmp_path):
    with ProcessGroup(2, tmp_path, "nccl") as group:
        params = [{**SAME_AS_ALONE, "device": f"cuda:{rank}"} for rank in range(2)]
        (probabilities, _), _ = group.run(described, params)
    alone = fitted(SAME_AS_ALONE)
    np.testing.assert_allclose(probabilities, alone.predict_proba(TEXTS), atol=1e-3)


def run_torchrun(script, folder, timeout=250):
    (folder / "train.py").write_text(script, "utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "train.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def guides_script():
    """The train.py of the documentation."""
    page = (ROOT / "docs" / "how_to" / "several_processes.md").read_text("utf-8")
    return page.split("```py\n")[1].split("```")[0]


@pytest.mark.thorough
def test_the_script_of_the_guide_trains_a_model_as_good_as_one_process(tmp_path):
    script = guides_script()
    done = run_torchrun(script, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    model = sk_han.load(tmp_path / "model.han")
    texts, labels = make_reviews(600, random_state=1)
    alone = HANClassifier(random_state=0).fit(*make_reviews(2000, random_state=0))
    assert model.score(texts, labels) > alone.score(texts, labels) - 0.05


@pytest.mark.thorough
def test_a_rank_that_dies_ends_all_of_torchrun(tmp_path):
    dying = """
        class Dies(skorch.callbacks.Callback):
            def on_epoch_end(self, net, **kwargs):
                if torch.distributed.get_rank() == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
    """
    script = "import os, signal, skorch, torch\n" + textwrap.dedent(dying)
    script += guides_script().replace("verbose=1", "callbacks=[Dies()]")
    done = run_torchrun(script, tmp_path)
    assert done.returncode != 0
    assert not (tmp_path / "model.han").exists()
