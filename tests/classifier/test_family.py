"""The members of the family through HANClassifier."""

from functools import partial

import numpy as np
import pytest

from sk_han import (
    RNN,
    Attention,
    MultiHopAttention,
)
from tests import tiny_models
from tests.tiny_models import BAD, GOOD

TEXTS = 8 * (GOOD + BAD)
LABELS = np.array(8 * (3 * ["pos"] + 3 * ["neg"]))

tiny = partial(tiny_models.tiny, max_epochs=2, batch_size=16, linear_ngrams=None)


def first_valid_loss(penalty):
    """Loss of the held-out documents after an epoch in which next to nothing is learnt."""
    pooling = MultiHopAttention(size=4, hops=2, penalty=penalty)
    classifier = tiny(pooling=pooling, lr=1e-9, max_epochs=1)
    return classifier.fit(TEXTS, LABELS).history_[0]["valid_loss"]


class TestHopPenalty:
    def test_the_hop_penalty_does_not_count_in_the_validation_loss(self):
        assert first_valid_loss(1) == pytest.approx(first_valid_loss(0), abs=1e-5)


def unread():
    """Texts that fail the test when they are read."""
    yield pytest.fail("A text was read.")


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"rnn": RNN(cell="qrnn")}, "'cell' parameter of RNN must be one of 'gru'"),
            ({"rnn": Attention()}, "'rnn' parameter of HANClassifier must be"),
            ({"pooling": Attention}, "'pooling' parameter of HANClassifier must be"),
            ({"net_params": {"module__embedding_dropout": 1.0}}, "module__embedding_dropout in"),
            ({"net_params": {"criterion__label_smoothing": 1.0}}, "criterion__label_smoothing in"),
            ({"net_params": {"optimizer__weight_decay": -0.1}}, "optimizer__weight_decay in"),
            ({"net_params": {"clip_norm": 0}}, "clip_norm in net_params must be a number above 0"),
        ],
        ids=str,
    )
    def test_wrong_options_are_reported_before_texts_are_read(self, params, message):
        with pytest.raises(ValueError, match=message):
            tiny(**params).fit(unread(), LABELS)

    def test_wrong_options_are_reported_in_a_later_partial_fit(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        with pytest.raises(ValueError, match="'size' parameter of Attention"):
            classifier.set_params(pooling=Attention(size=0)).partial_fit(unread(), LABELS)


class TestGoingOn:
    def test_a_warm_start_refuses_another_network_structure(self):
        warm = tiny(warm_start=True, max_epochs=1).fit(TEXTS, LABELS)
        with pytest.raises(ValueError, match="rnn is 'lstm' now, and 'gru' in the fitted network"):
            warm.set_params(rnn="lstm").fit(unread(), LABELS)

    def test_parameters_other_than_the_structure_may_change(self):
        pooling = MultiHopAttention(size=4, hops=2)
        warm = tiny(warm_start=True, max_epochs=1, pooling=pooling).fit(TEXTS, LABELS)
        warm.set_params(pooling__penalty=0.25)
        warm.set_params(
            net_params={"module__embedding_dropout": 0.5, "criterion__label_smoothing": 0.2}
        )
        options = warm.fit(TEXTS, LABELS).net_.module_.options
        assert options.embedding_dropout == 0.5
        assert options.pooling.penalty == 0.25


class TestNetParams:
    """What the network is beside the parameters of the classifier."""

    def test_net_params_have_the_documented_defaults(self):
        net = tiny(max_epochs=1).fit(TEXTS, LABELS).net_
        assert (net.clip_norm, net.valid_batch_size, net.module_.max_words) == (1.0, 256, 131_072)
        assert net.excerpt_words is None
        assert net.criterion_.label_smoothing == net.module_.options.embedding_dropout == 0
        assert [group["weight_decay"] for group in net.optimizer_.param_groups] == [0.0001]

    @pytest.mark.parametrize(
        "params",
        [
            {"clip_norm": 1e-6},
            {"criterion__label_smoothing": 0.5},
            {"excerpt_words": 3},
            {"module__embedding_dropout": 0.5},
            {"optimizer__weight_decay": 10.0},
        ],
        ids=str,
    )
    def test_each_of_the_net_params_has_an_effect(self, params):
        # With SGD, whose steps follow the size of the gradient.
        settings = {"optimizer": "sgd", "lr": 0.1, "max_epochs": 1, "validation_fraction": None}
        plain = tiny(**settings).fit(TEXTS, LABELS).predict_proba(TEXTS)
        changed = tiny(**settings, net_params=params).fit(TEXTS, LABELS).predict_proba(TEXTS)
        assert np.abs(changed - plain).max() > 1e-5
