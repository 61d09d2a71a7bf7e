"""The network computed by NumPy gives the numbers of PyTorch's."""

import re

import numpy as np
import pytest

from sk_han import RNN, Attention, DocumentArray, MultiHopAttention
from sk_han._training.builder import net_to_state
from sk_han.serving import _network as network
from sk_han.serving._network import ServedNetwork
from tests.tiny_models import LABELS, TEXTS, tiny

pytestmark = pytest.mark.usefixtures("engine")

MEMBERS = ["attention", Attention(size=4), Attention(size=4, per_label=True)]
REFUSED = [
    {"rnn": "lstm"},
    {"rnn": RNN(num_layers=2)},
    {"rnn": RNN(bidirectional=False)},
    {"pooling": "mean"},
    {"pooling": MultiHopAttention(size=4, hops=3)},
]

# Documents of very different lengths: empty, of one word, of sentences of one word, long.
NESTED = [
    [],
    [[3]],
    [[2], [5], [2]],
    [[2, 3, 4, 5, 2], [6], [1, 1, 7]],
    # Without a pattern: states that repeat are equal but for rounding, and either is the maximum.
    np.split(np.random.default_rng(0).integers(2, 12, 131), [97, 99, 120]),
    [],
]
DOCUMENTS = DocumentArray.from_nested(NESTED)


NETS = {}


def trained(pooling):
    """Train at a high rate, so that no weight is near its initial value; each member once."""
    if repr(pooling) not in NETS:
        classifier = tiny(pooling=pooling, lr=0.05, linear_ngrams=None, max_epochs=3)
        NETS[repr(pooling)] = classifier.fit(TEXTS, LABELS).net_
    return NETS[repr(pooling)]


@pytest.fixture(scope="module")
def net():
    return trained(Attention(size=4))


def assert_same(found, net, documents):
    expected = net.compute("attend", documents)
    for name in ("logits", "word_attention", "sentence_attention"):
        reference = getattr(expected, name).numpy(force=True)
        np.testing.assert_allclose(getattr(found, name), reference, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("pooling", MEMBERS, ids=str)
def test_scores_and_attention_match_pytorch(pooling):
    net = trained(pooling)
    assert_same(ServedNetwork(net_to_state(net)).attend(DOCUMENTS), net, DOCUMENTS)


@pytest.mark.parametrize("params", REFUSED, ids=str)
def test_unsupported_networks_are_refused_with_the_option(params):
    state = net_to_state(tiny(**params, linear_ngrams=None, max_epochs=1).fit(TEXTS, LABELS).net_)
    (name, value), *_ = params.items()
    found = re.escape(f"{name}={value!r}")
    with pytest.raises(ValueError, match=rf"{found}.* a Scorer computes .*: sk_han\.load reads it"):
        ServedNetwork(state)


def test_prediction_does_not_change_the_weights(net):
    state = net_to_state(net)
    before = {name: weight.copy() for name, weight in state["weights"].items()}
    for weight in state["weights"].values():
        weight.setflags(write=False)
    served = ServedNetwork(state)
    served.logits(DOCUMENTS)
    for name, weight in before.items():
        np.testing.assert_array_equal(state["weights"][name], weight, err_msg=name)


@pytest.mark.parametrize("most_words", [1, 3, 40])
def test_the_size_of_a_batch_of_words_changes_nothing(net, monkeypatch, most_words):
    monkeypatch.setattr(network, "_MOST_WORDS", most_words)
    assert_same(ServedNetwork(net_to_state(net)).attend(DOCUMENTS), net, DOCUMENTS)


def test_scores_of_a_document_do_not_depend_on_other_documents(net):
    served = ServedNetwork(net_to_state(net))
    together = served.logits(DOCUMENTS)
    for i in range(len(DOCUMENTS)):
        np.testing.assert_allclose(served.logits(DOCUMENTS[[i]])[0], together[i], atol=1e-6)


@pytest.mark.parametrize("pooling", MEMBERS, ids=str)
def test_word_contributions_match_pytorch(pooling):
    net = trained(pooling)
    factors = np.array([[-1.0, 1.0], [0.5, 2.0], [1, -1], [0, 3], [-2, 1], [1, 1]], np.float32)
    expected = net.compute("gradient_attention", DOCUMENTS, lambda logits, rows: factors[rows])
    served = ServedNetwork(net_to_state(net))
    found = served.gradient_attention(DOCUMENTS, lambda logits, rows: factors[rows])
    assert_same(found, net, DOCUMENTS)
    words = expected.words.numpy(force=True)
    np.testing.assert_allclose(found.words, words, atol=5e-6 * abs(words).max())
    assert abs(words).max() > 1e-3
