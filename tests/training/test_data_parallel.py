"""Training by several processes: real ones, in a group over gloo, against a single one."""

import dataclasses
import functools
import itertools
import re

import numpy as np
import pytest
from skorch.callbacks import Callback

from sk_han import DocumentArray
from sk_han.documents import LabelledDocuments
from sk_han.training.builder import document_net, new_net
from sk_han.training.data_parallel import joined_ranks, parts_of
from sk_han.training.devices_and_threads import computing

VOCABULARY_SIZE = 90


def documents_of(n, seed=0):
    """Documents of 0 to 6 sentences of 1 to 12 words, with uneven weights."""
    rng = np.random.default_rng(seed)
    nested = [
        [rng.integers(1, VOCABULARY_SIZE, rng.integers(1, 13)).tolist() for _ in range(length)]
        for length in rng.integers(0, 7, n)
    ]
    targets = rng.integers(0, 3, n)
    return LabelledDocuments(DocumentArray.from_nested(nested), targets, rng.uniform(0.01, 1, n))


def net_of(**params):
    options = {"embedding_dim": 13, "word_hidden": 5, "sentence_hidden": 3}
    network = {"vocabulary_size": VOCABULARY_SIZE, "n_classes": 3, "unknown_id": 1, **options}
    dropout = {"dropout": params.pop("dropout", 0.0), "word_dropout": 0.0}
    defaults = {
        "make_net": document_net,
        "n_documents": 32,
        "max_epochs": 5,
        "batch_size": 8,
        "lr": 0.1,
        "lr_schedule": "constant",
        "keep_best": False,
        "verbose": 0,
        "device": "cpu",
        "random_state": np.random.RandomState(0),
    }
    return new_net(network | dropout, **{**defaults, **params})


class StopAt(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise KeyboardInterrupt  # as skorch's callbacks do


class FailAt(Callback):
    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise ZeroDivisionError


def with_ranks(function):
    """Pass the ranks of the process that calls."""

    @functools.wraps(function)
    def joined(*args, **kwargs):
        with joined_ranks() as ranks:
            return function(*args, **kwargs, ranks=ranks)

    return joined


@with_ranks
def gradients(data, engine, optimizer="adamw", noise=0.0, ranks=None):
    """Loss and gradients of one step on all documents."""
    net = net_of(optimizer=optimizer, noise=noise, net_params={"clip_norm": None})
    with computing(engine), net._together(ranks):
        step = net.train_step_single((data, data.targets))
    # A table without a gradient stays the optimizer's business.
    found = {name: p.grad for name, p in net.module_.named_parameters()}
    dense = {n: None if g is None else g.to_dense().numpy() for n, g in found.items()}
    return step["loss"].item(), dense, found["embedding.weight"].is_sparse


@with_ranks
def training(data, validation, params, ranks=None):
    """Weights and history of a training."""
    net = net_of(**{"random_state": np.random.RandomState(0), **params})
    if ranks is not None and not ranks.is_first:  # as another processor may round
        net.set_embedding(net.weights["embedding.weight"] + 1)
    net.train(data, validation, ranks)
    history = [{k: v for k, v in e.items() if isinstance(v, float)} for e in net.history]
    if ranks is not None:
        ranks.dismiss()
    return net.weights, history


def assert_close(found, expected, tolerance):
    """Compare arrays, relative to the largest number of each."""
    assert found.keys() == expected.keys()
    for name in expected:
        atol = tolerance * np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.thorough
class TestGradients:
    @pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_those_of_two_processes_are_those_of_one(self, group, engine, optimizer, noise):
        data = documents_of(8)
        expected_loss, expected, sparse = gradients(data, engine, optimizer, noise)
        assert sparse == (optimizer == "adamw")
        for loss, found, found_sparse in group.run(gradients, data, engine, optimizer, noise):
            assert found_sparse == sparse
            assert loss == pytest.approx(expected_loss, rel=1e-5)
            assert_close(found, expected, 1e-5)

    @pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
    def test_a_rank_without_documents_counts_as_nothing(self, group, engine, optimizer):
        data = documents_of(1, seed=4)
        assert data.documents.n_words > 0
        expected_loss, expected, _ = gradients(data, engine, optimizer, 0.3)
        for loss, found, _ in group.run(gradients, data, engine, optimizer, 0.3):
            assert loss == pytest.approx(expected_loss, rel=1e-5)
            assert_close(found, expected, 1e-5)

    def test_weights_far_below_single_precision_still_count(self, group):
        data = documents_of(8)
        data = dataclasses.replace(data, weights=data.weights * 1e-200)
        _, expected, _ = gradients(data, "auto")
        for _, found, _ in group.run(gradients, data, "auto"):
            assert_close(found, expected, 1e-5)


@pytest.mark.thorough
class TestTraining:
    def test_weights_after_20_steps_of_sgd_are_those_of_one_process(self, group, engine):
        params = {"optimizer": "sgd", "lr": 0.5, "keep_best": True}
        data, validation = documents_of(30), documents_of(11, seed=1)  # a last batch of 6
        with computing(engine):
            expected, history = training(data, validation, dict(params))
        for weights, joint_history in group.run(training, data, validation, dict(params)):
            assert_close(weights, expected, 1e-4)  # rounding grows over the steps
            for epoch, joint in zip(history, joint_history, strict=True):
                assert joint == pytest.approx(epoch | {"dur": joint["dur"]}, rel=1e-4)

    def test_all_ranks_end_with_the_same_bits_whatever_they_started_with(self, group):
        params = {"weight_averaging": 0.9, "noise": 0.1, "dropout": 0.3, "keep_best": True}
        found = group.run(training, documents_of(33), documents_of(5, seed=1), params)
        (first, _), (second, _) = found
        for name, weight in first.items():
            np.testing.assert_array_equal(weight, second[name], err_msg=name)

    def test_a_loss_that_is_no_number_ends_all_ranks_with_the_same_error(self, group):
        params = {"optimizer": "sgd", "lr": 1e30, "net_params": {"clip_norm": None}}
        for error in group.run(training, documents_of(33), None, params):
            assert isinstance(error, FloatingPointError)

    def test_a_rank_that_stops_stops_the_others(self, group):
        both = [{"callbacks": [StopAt(2)]}, {"callbacks": None}]
        for _, history in group.run(training, documents_of(16), None, both):
            assert len(history) == 2

    def test_a_rank_that_fails_ends_the_others_at_once(self, group):
        both = [{"callbacks": None}, {"callbacks": [FailAt(2)]}]
        lost, failed = group.run(training, documents_of(16), None, both)
        assert isinstance(failed, ZeroDivisionError)
        assert isinstance(lost, RuntimeError)
        assert re.search("Rank 0 lost the other 1 of 2 processes.*checkpoint", str(lost))
        # The group of the user is as it was.
        assert len(group.run(training, documents_of(16), None, {})) == 2

    def test_dropout_differs_between_ranks(self, group):
        first, second = group.run(noise_of_dropout)
        assert not np.array_equal(first, second)


@with_ranks
def noise_of_dropout(ranks):
    net = net_of()
    with net._together(ranks):
        return net.module_.generator.get_state().numpy()


@with_ranks
def checked(facts, ranks):
    ranks.check_same(facts)


@pytest.mark.thorough
class TestSameFacts:
    def test_equal_facts_pass(self, group):
        assert group.run(checked, {"number": 0.5, "text": "same", "nothing": None}) == [None, None]

    @pytest.mark.parametrize("theirs", [0.25, "0.5", None])
    def test_different_facts_are_named_on_all_ranks(self, group, theirs):
        each = [{"same": 1, "other": 0.5}, {"same": 1, "other": theirs}]
        for error in group.run(checked, each):
            assert isinstance(error, ValueError)
            message = f"need the same .* and other: 0.5 on rank 0, {theirs} on rank 1. Give"
            assert re.search(message, str(error))


class TestParts:
    def test_parts_have_about_equally_many_words(self):
        words = np.random.default_rng(0).integers(1, 900, 640)
        bounds = parts_of(words, 8)
        sums = [words[a:b].sum() for a, b in itertools.pairwise(bounds)]
        assert bounds[0] == 0
        assert bounds[-1] == 640
        assert max(sums) - min(sums) <= 2 * words.max()

    @pytest.mark.parametrize("n", [0, 1, 2, 7])
    def test_fewer_documents_than_parts_leave_parts_empty(self, n):
        bounds = parts_of(np.zeros(n, dtype=np.int64), 5)
        assert bounds.shape == (6,)
        assert np.diff(bounds).min() >= 0
        assert bounds[-1] == n


class TestAlone:
    def test_a_process_without_a_group_has_no_ranks(self):
        assert with_ranks(lambda ranks: ranks)() is None

    def test_torchrun_without_a_group_warns(self, monkeypatch):
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
        monkeypatch.setenv("WORLD_SIZE", "2")
        with pytest.warns(UserWarning, match="belongs to no group.*init_process_group"):
            assert with_ranks(lambda ranks: ranks)() is None
