"""The members of the family through HANClassifier."""

import pickle
from copy import copy
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from sk_han import (
    RNN,
    Attention,
    ContextAttention,
    HierarchicalTokenizer,
    MultiHopAttention,
)
from tests import tiny_models
from tests.thorough import first_fast
from tests.tiny_models import BAD, GOOD

TEXTS = 8 * (GOOD + BAD)
LABELS = np.array(8 * (3 * ["pos"] + 3 * ["neg"]))

MEMBERS = {
    "lstm": {"rnn": "lstm"},
    "simple rnn of two layers": {"rnn": RNN(cell="rnn", num_layers=np.int64(2))},
    "one direction": {"rnn": RNN(bidirectional=np.False_)},
    "mean": {"pooling": "mean"},
    "max": {"pooling": "max"},
    "last": {"pooling": "last"},
    "hops": {"pooling": MultiHopAttention(size=4, hops=np.int64(2))},
    "context": {"pooling": ContextAttention(size=4, direction="bidirectional", gated=True)},
    "sum of the sentences before": {"pooling": ContextAttention(size=4, summary="sum")},
    "all that is drawn": {
        "net_params": {"module__embedding_dropout": 0.2, "criterion__label_smoothing": 0.1}
    },
}

tiny = partial(tiny_models.tiny, max_epochs=2, batch_size=16, linear_ngrams=None)


@pytest.fixture(scope="module", params=MEMBERS.values(), ids=MEMBERS)
def member(request):
    return tiny(**request.param).fit(TEXTS, LABELS)


class TestEveryMember:
    def test_probabilities_do_not_depend_on_neighbours(self, member):
        together = member.predict_proba([*TEXTS[:6], ""])
        alone = [member.predict_proba([text])[0] for text in [*TEXTS[:6], ""]]
        np.testing.assert_allclose(together, alone, atol=1e-6)
        assert np.isfinite(together).all()

    def test_explanations_have_weights_that_sum_to_one(self, member):
        for explanation in member.explain(TEXTS[:6]):
            of_sentence = np.bincount(explanation.sentence_of_word, explanation.word_attention)
            assert of_sentence == pytest.approx(1.0, abs=1e-6)
            assert explanation.sentence_attention.sum() == pytest.approx(1.0, abs=1e-6)

    def test_a_pickle_gives_equal_probabilities(self, member):
        loaded = pickle.loads(pickle.dumps(member))
        assert np.array_equal(loaded.predict_proba(TEXTS), member.predict_proba(TEXTS))

    def test_the_same_seed_gives_the_same_bits(self, member):
        again = clone(member).fit(TEXTS, LABELS)
        assert np.array_equal(again.predict_proba(TEXTS), member.predict_proba(TEXTS))


@pytest.mark.parametrize(
    "params",
    first_fast(
        [
            {"pooling": "mean"},
            {"rnn": RNN(cell="lstm", num_layers=2)},
            {"pooling": "max"},
            {"pooling": MultiHopAttention(size=4, hops=2)},
            {"pooling": ContextAttention(size=4, direction="bidirectional")},
        ],
        n=2,
    ),
    ids=str,
)
def test_a_cue_word_is_learnt(params):
    # Long enough for every document to get its label with a probability of 0.85 or more: fewer
    # steps left one at 0.51, which another order of adding may turn round.
    classifier = tiny(**params, max_epochs=25, lr=0.03, validation_fraction=None)
    assert classifier.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0


def first_loss(pooling):
    """Loss of the first step, in which networks of the same seed are still equal."""
    params = {"max_epochs": 1, "validation_fraction": None, "batch_size": 100}
    return tiny(pooling=pooling, **params).fit(TEXTS, LABELS).history_[0]["train_loss"]


def first_valid_loss(pooling):
    """Loss of the held-out documents after an epoch in which next to nothing is learnt."""
    classifier = tiny(pooling=pooling, lr=1e-9, max_epochs=1)
    return classifier.fit(TEXTS, LABELS).history_[0]["valid_loss"]


def with_penalty(factor):
    return MultiHopAttention(size=4, hops=2, penalty=factor)


class TestHopPenalty:
    def test_it_enters_the_loss_by_its_factor(self):
        plain, once, twice = (first_loss(with_penalty(factor)) for factor in (0, 1, 2))
        assert once - plain > 0.1
        assert twice - plain == pytest.approx(2 * (once - plain), abs=1e-5)

    def test_it_is_no_part_of_the_validation_loss(self):
        plain, punished = (first_valid_loss(with_penalty(factor)) for factor in (0, 1))
        assert punished == pytest.approx(plain, abs=1e-5)

    def test_one_hop_is_not_punished(self):
        plain, punished = (
            first_loss(MultiHopAttention(size=4, hops=1, penalty=factor)) for factor in (0, 2)
        )
        assert punished == plain

    def test_a_document_counts_by_its_weight(self):
        weights = 1 + np.arange(len(TEXTS)) % 3  # the three kinds of texts differ in length
        settings = {
            "pooling": MultiHopAttention(size=4, hops=2),
            "max_epochs": 1,
            "validation_fraction": None,
        }
        settings |= {"batch_size": 100, "dropout": 0.0, "word_dropout": 0.0}
        X = HierarchicalTokenizer().fit_transform(TEXTS)
        weighted = tiny(**settings).fit(X, LABELS, sample_weight=weights)
        rows = np.repeat(np.arange(len(X)), weights)
        twice = tiny(**settings).fit(X[rows], LABELS[rows])
        first, second = (c.history_[0]["train_loss"] for c in (weighted, twice))
        assert first == pytest.approx(second, abs=1e-5)


def unread():
    """Texts that fail the test when they are read."""
    yield pytest.fail("A text was read.")


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"rnn": "transformer"}, "'rnn' parameter of HANClassifier must be"),
            ({"rnn": RNN(cell="qrnn")}, "'cell' parameter of RNN must be one of 'gru'"),
            ({"rnn": Attention()}, "'rnn' parameter of HANClassifier must be"),
            ({"pooling": "median"}, "'pooling' parameter of HANClassifier must be"),
            ({"pooling": Attention}, "'pooling' parameter of HANClassifier must be"),
            ({"pooling": RNN()}, "'pooling' parameter of HANClassifier must be"),
            ({"pooling": Attention(size=0)}, "'size' parameter of Attention must be an integer"),
            ({"pooling": MultiHopAttention(penalty=np.nan)}, "'penalty' parameter of MultiHop"),
            ({"pooling": ContextAttention(summary="max")}, "'summary' parameter"),
            ({"net_params": {"module__embedding_dropout": 1.0}}, "module__embedding_dropout in"),
            ({"net_params": {"criterion__label_smoothing": 1.0}}, "criterion__label_smoothing in"),
            ({"net_params": {"optimizer__weight_decay": -0.1}}, "optimizer__weight_decay in"),
            ({"net_params": {"clip_norm": 0}}, "clip_norm in net_params must be a number above 0"),
        ],
        ids=str,
    )
    def test_they_are_named_before_a_text_is_read(self, params, message):
        with pytest.raises(ValueError, match=message):
            tiny(**params).fit(unread(), LABELS)

    def test_they_are_named_when_partial_fit_goes_on(self):
        classifier = tiny().partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        with pytest.raises(ValueError, match="'size' parameter of Attention"):
            classifier.set_params(pooling=Attention(size=0)).partial_fit(unread(), LABELS)


@pytest.fixture(scope="module")
def warm():
    return tiny(warm_start=True, max_epochs=1).fit(TEXTS, LABELS)


class TestGoingOn:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"rnn": "lstm"}, "rnn is 'lstm' now, and 'gru' in the fitted network"),
            ({"rnn": RNN(num_layers=2)}, "num_layers=2.* now, and 'gru'"),
            ({"rnn": RNN(bidirectional=False)}, r"bidirectional=False\) now, and 'gru'"),
            ({"pooling": "mean"}, r"pooling is 'mean' now, and Attention\(size=4"),
            ({"pooling": "attention"}, r"pooling is 'attention' now, and Attention\(size=4"),
            ({"word_hidden": 11}, "word_hidden is 11 now, and 5"),
            ({"pooling": MultiHopAttention(size=4, hops=2)}, r"hops=2.* now, and Attention\("),
            ({"pooling": ContextAttention(size=4)}, r"ContextAttention.* now, and Attention\("),
        ],
        ids=str,
    )
    def test_another_structure_is_refused(self, warm, params, message):
        with pytest.raises(ValueError, match=message):
            copy(warm).set_params(**params).fit(unread(), LABELS)

    def test_a_cell_by_name_or_as_an_object_is_the_same_structure(self):
        warm = tiny(warm_start=True, max_epochs=1, rnn="lstm").fit(TEXTS, LABELS)
        warm.set_params(rnn=RNN(cell="lstm")).fit(TEXTS, LABELS)
        assert warm.net_.module_.options.recurrent == RNN(cell="lstm")

    def test_what_is_no_structure_may_change(self):
        pooling = MultiHopAttention(size=4, hops=2)
        warm = tiny(warm_start=True, max_epochs=1, pooling=pooling).fit(TEXTS, LABELS)
        warm.set_params(pooling__penalty=0.25)
        warm.set_params(
            net_params={"module__embedding_dropout": 0.5, "criterion__label_smoothing": 0.2}
        )
        options = warm.fit(TEXTS, LABELS).net_.module_.options
        assert options.embedding_dropout == 0.5
        assert options.pooling.penalty == 0.25

    @pytest.mark.parametrize(
        "params", [{"rnn": "lstm"}, {"pooling": MultiHopAttention(size=4, hops=2)}], ids=str
    )
    def test_partial_fit_goes_on(self, params):
        classifier = tiny(**params, lr=0.02).partial_fit(TEXTS, LABELS, classes=["neg", "pos"])
        for _ in range(5):
            classifier.partial_fit(TEXTS, LABELS)
        assert classifier.history_[-1]["train_loss"] < classifier.history_[0]["train_loss"]


class TestNetParams:
    """What the network is beside the parameters of the classifier."""

    def test_they_reach_the_net(self):
        given = {
            "clip_norm": None,
            "criterion__label_smoothing": 0.25,
            "module__embedding_dropout": 0.5,
            "optimizer__weight_decay": 0.125,
        }
        net = tiny(net_params=given, max_epochs=1).fit(TEXTS, LABELS).net_
        assert net.clip_norm is None
        assert net.criterion_.label_smoothing == 0.25
        assert net.module_.options.embedding_dropout == 0.5
        assert [group["weight_decay"] for group in net.optimizer_.param_groups] == [0.125]

    def test_their_defaults_are_those_of_the_documentation(self):
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
    def test_each_of_them_has_an_effect(self, params):
        # With SGD, whose steps follow the size of the gradient.
        settings = {"optimizer": "sgd", "lr": 0.1, "max_epochs": 1, "validation_fraction": None}
        plain = tiny(**settings).fit(TEXTS, LABELS).predict_proba(TEXTS)
        changed = tiny(**settings, net_params=params).fit(TEXTS, LABELS).predict_proba(TEXTS)
        assert np.abs(changed - plain).max() > 1e-5
