"""Accidents in the middle of the work: interrupts, errors of others, odd surroundings."""

import contextlib
import pickle
import signal
from functools import partial

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sk_han import HierarchicalTokenizer, SentenceEmbedder
from sk_han.nn import HierarchicalAttentionNetwork
from tests import tiny_models, tiny_pairs
from tests.encoders_of_sentences import HashEncoder
from tests.tiny_sentences import UNSEEN, X, Y, tiny_tagger

pytestmark = pytest.mark.thorough

TEXTS = ["It was a good day. The sun shone!", "A bad day. Rain, and more rain."] * 8
LABELS = ["pos", "neg"] * 8

tiny = partial(tiny_models.tiny, max_epochs=2)


@contextlib.contextmanager
def state_stays(classifier):
    """Expect the fitted state to be the same objects, and the predictions the same bits."""
    state = {name: value for name, value in vars(classifier).items() if name.endswith("_")}
    proba = classifier.predict_proba(TEXTS)
    yield
    assert all(vars(classifier)[name] is value for name, value in state.items())
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), proba)


def never_raised():
    return None


def ctrl_c():
    signal.raise_signal(signal.SIGINT)
    never_raised()  # a signal is looked at no later than at the next call


def raising(number, frame):
    raise KeyboardInterrupt  # as asyncio's handler does


def interrupt():
    raise KeyboardInterrupt


def fault():
    raise ZeroDivisionError


MOMENTS = sorted(name for name in dir(Callback) if name.startswith("on_"))


class At(Callback):
    """Do something at one moment of training."""

    def __init__(self, moment, action):
        self.moment, self.action = moment, action


def hook_at(moment):
    def hook(self, *args, **kwargs):
        if moment == self.moment:
            self.action()
        return self

    return hook


for moment in ("initialize", *MOMENTS):
    setattr(At, moment, hook_at(moment))


@pytest.mark.usefixtures("_ctrl_c")
class TestInterrupts:
    @pytest.mark.parametrize("moment", MOMENTS)
    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    def test_ctrl_c_leaves_the_earlier_state(self, moment, method):
        classifier = tiny().fit(TEXTS, LABELS)
        with state_stays(classifier), pytest.raises(KeyboardInterrupt):
            getattr(classifier.set_params(callbacks=[At(moment, ctrl_c)]), method)(TEXTS, LABELS)

    def test_an_interrupt_raised_after_an_epoch_stops_training(self):
        classifier = tiny(callbacks=[At("on_epoch_end", interrupt)]).fit(TEXTS, LABELS)
        assert classifier.n_iter_ == 1

    @pytest.mark.parametrize("handler", [raising, signal.default_int_handler])
    def test_an_interrupt_leaves_the_users_signal_handler_in_place(self, handler):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                tiny(callbacks=[At("on_epoch_end", ctrl_c)]).fit(TEXTS, LABELS)
            assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize("raised", [ctrl_c, interrupt, fault])
    def test_an_error_in_a_tokenizer_leaves_the_earlier_state(self, raised):
        tokenizer = HierarchicalTokenizer(word_tokenizer=lambda text: raised())
        classifier = tiny().fit(TEXTS, LABELS).set_params(tokenizer=tokenizer)
        with state_stays(classifier), pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
            classifier.fit(TEXTS, LABELS)

    def test_a_first_fit_that_is_interrupted_leaves_no_state(self):
        classifier = tiny(callbacks=[At("on_train_end", ctrl_c)])
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(TEXTS, LABELS)
        assert not [name for name in vars(classifier) if name.endswith("_")]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"device": "cuda:99"}, ValueError, r"'cuda:99' is not .*this machine has \['cpu'.*'auto'"),
        ({"lr": 9e35, "net_params": {"clip_norm": None}}, FloatingPointError, "Lower lr"),
        ({"tokenizer": HierarchicalTokenizer(min_df=99)}, ValueError, "min_df"),
    ],
    ids=["device", "divergence", "no words"],
)
def test_a_fit_that_fails_leaves_the_earlier_state(params, error, message):
    classifier = tiny().fit(TEXTS, LABELS)
    with state_stays(classifier), pytest.raises(error, match=message):
        classifier.set_params(**params).fit(TEXTS, LABELS)


@pytest.fixture
def small_gpu(monkeypatch):
    """Let the network run out of memory for batches of more than so many documents."""

    def limit(n_documents):
        attend = HierarchicalAttentionNetwork.attend

        def attend_a_few(self, word_ids, words_per_sentence, sentences_per_document):
            if len(sentences_per_document) > n_documents:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return attend(self, word_ids, words_per_sentence, sentences_per_document)

        monkeypatch.setattr(HierarchicalAttentionNetwork, "attend", attend_a_few)

    return limit


class TestMemoryOfAGPU:
    @pytest.mark.parametrize("n_documents", [1, 3, 7])
    def test_documents_are_scored_in_smaller_batches(self, small_gpu, n_documents):
        classifier = tiny().fit(TEXTS, LABELS)
        texts = [*TEXTS, "", "Good."]
        expected = classifier.predict_proba(texts)
        small_gpu(n_documents)
        np.testing.assert_allclose(classifier.predict_proba(texts), expected, atol=1e-6)

    def test_a_document_larger_than_the_memory_gets_advice(self, small_gpu):
        classifier = tiny().fit(TEXTS, LABELS)
        small_gpu(0)
        with pytest.raises(MemoryError, match=r"A document of 10 words .* max_sentences"):
            classifier.predict(TEXTS)


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def results_of_others():
    """Fit a tagger, a translator and a classifier of sentence vectors; return their numbers."""
    tagger = tiny_tagger(max_epochs=1, scheme="iob2").fit(X, Y)
    sources, targets = tiny_pairs.pairs()
    translator = tiny_pairs.tiny(max_epochs=1).fit(sources, targets)
    vectors = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS)
    classifier = tiny(linear_ngrams=None).fit(vectors, LABELS)
    return [
        *(distribution for each in tagger.predict_proba(UNSEEN) for distribution in each),
        [translator.score(sources, targets)],
        translator.predict(sources),
        classifier.predict_proba(vectors),
    ]


SURROUNDINGS = {
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "no_grad": torch.no_grad,
    "float64 by default": lambda: default_dtype(torch.float64),
    "bfloat16 by default": lambda: default_dtype(torch.bfloat16),
    # Where tensors hold no data: whatever were made there by mistake would fail.
    "another device by default": lambda: torch.device("meta"),
    "deterministic algorithms": deterministic_algorithms,
    "NumPy raises": lambda: np.errstate(all="raise"),
}
each_surrounding = pytest.mark.parametrize(
    "surrounding", SURROUNDINGS.values(), ids=SURROUNDINGS.keys()
)


class TestSurroundings:
    """What the caller has set up for PyTorch and NumPy changes no number."""

    @each_surrounding
    def test_surroundings_do_not_change_results_of_other_estimators(self, surrounding):
        expected = results_of_others()
        with surrounding():
            found = results_of_others()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    @each_surrounding
    def test_a_classifier_learns_predicts_explains_and_loads_the_same(self, surrounding):
        before = tiny().fit(TEXTS, LABELS)
        expected = before.predict_proba(TEXTS)
        with surrounding():
            fitted, loaded = tiny().fit(TEXTS, LABELS), pickle.loads(pickle.dumps(before))
            predicted, explained = before.predict_proba(TEXTS), before.explain(TEXTS)
        for found in (fitted.predict_proba(TEXTS), loaded.predict_proba(TEXTS), predicted):
            np.testing.assert_array_equal(found, expected)
        assert explained == before.explain(TEXTS)
        with surrounding():
            fitted.partial_fit(TEXTS, LABELS)
        expected = before.partial_fit(TEXTS, LABELS).predict_proba(TEXTS)
        np.testing.assert_array_equal(fitted.predict_proba(TEXTS), expected)

    def test_confident_predictions_underflow_without_a_warning(self):
        classifier = tiny().fit(TEXTS, LABELS)
        classifier.net_.module_.output.bias.data[:] = torch.tensor([0.0, 1e6])
        with np.errstate(all="raise"):
            assert classifier.predict_proba(["", ""])[:, 0].tolist() == [0.0, 0.0]
