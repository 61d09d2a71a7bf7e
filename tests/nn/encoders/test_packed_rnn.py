"""PyTorch's recurrent networks over ragged sequences."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han.nn import BidirectionalGRU, PackedRNN
from sk_han.nn.encoders import packed_rnn
from sk_han.nn.encoders.bidirectional_gru import recurrent_encoder
from sk_han.options import RNN

LENGTHS = [3, 0, 7, 1, 2]
KINDS = list(product(["gru", "lstm", "rnn"], [1, 2], [True, False]))
each_kind = pytest.mark.parametrize(("rnn", "num_layers", "bidirectional"), KINDS)


@pytest.fixture
def inputs():
    """Eleven distinct inputs of size 3."""
    return torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3)


@pytest.fixture
def make_encoder(fill):
    """Inputs of size 3, states of size 5 in each direction."""

    def make(*args):
        encoder = PackedRNN(args[0], 3, 5, *args[1:]).double()
        fill(encoder)
        return encoder

    return make


@each_kind
def test_weights_start_as_those_of_torch(rnn, num_layers, bidirectional):
    generator = torch.Generator().manual_seed(0)
    encoder = PackedRNN(rnn, 5, 101, num_layers, bidirectional, generator)
    classes = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
    reference = classes[rnn](5, 101, num_layers=num_layers, bidirectional=bidirectional)
    shapes = {name: weight.shape for name, weight in reference.named_parameters()}
    assert {name: weight.shape for name, weight in encoder.rnn.named_parameters()} == shapes
    highest = max(weight.abs().max().item() for weight in encoder.parameters())
    assert highest == pytest.approx(101**-0.5, rel=1e-3)


@each_kind
def test_the_body_written_by_hand_is_taken_where_there_is_one(rnn, num_layers, bidirectional):
    options = RNN(cell=rnn, num_layers=num_layers, bidirectional=bidirectional)
    encoder = recurrent_encoder(options, 3, 5, None)
    by_hand = (rnn, num_layers, bidirectional) == ("gru", 1, True)
    assert type(encoder) is (BidirectionalGRU if by_hand else PackedRNN)


def each_of(states):
    """States, and memory cells where there are any."""
    return states if isinstance(states, tuple) else (states,)


@each_kind
@pytest.mark.parametrize(("block", "kept"), [(2, 1_000), (2, 3), (1, 5)])
def test_steps_that_are_computed_apart_and_again_change_nothing(
    make_encoder, monkeypatch, rnn, num_layers, bidirectional, block, kept
):
    encoder = make_encoder(rnn, num_layers, bidirectional)
    index = torch.arange(43) * 5 % 11
    lengths = torch.tensor([3, 0, 13, 1, 2, 5, 19])
    start = initial_of(encoder, 7)

    def outputs_and_gradients():
        inputs = torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3).requires_grad_()
        initial = [each.clone().requires_grad_() for each in start]
        given = (initial[0], initial[1]) if rnn == "lstm" else initial[0]
        states, last = encoder.encode(inputs, index, lengths, given)
        outputs = [states, *each_of(last)]
        loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in outputs)
        wanted = [inputs, *initial, *encoder.parameters()]
        return [*outputs, *torch.autograd.grad(loss, wanted)]

    monkeypatch.setattr(packed_rnn, "STEPS_A_BLOCK", 1_000)
    at_once = outputs_and_gradients()
    monkeypatch.setattr(packed_rnn, "STEPS_A_BLOCK", block)
    monkeypatch.setattr(packed_rnn, "MOST_STEPS_KEPT", kept)
    assert_close(outputs_and_gradients(), at_once, rtol=0, atol=1e-12)


def initial_of(encoder, n_sequences):
    """Initial states, and other numbers as memory cells of an LSTM."""
    rnn = encoder.rnn
    shape = rnn.num_layers * (2 if rnn.bidirectional else 1), n_sequences, 5
    n = shape[0] * shape[1] * shape[2]
    states = torch.sin(torch.arange(2 * n, dtype=torch.float64)).view(2, *shape)
    return tuple(states) if isinstance(rnn, nn.LSTM) else (states[0],)


def as_given(states):
    return states if len(states) == 2 else states[0]


class TestInitialStates:
    @each_kind
    def test_states_and_last_ones_are_those_of_torch_for_each_sequence_alone(
        self, make_encoder, inputs, index, rnn, num_layers, bidirectional
    ):
        encoder = make_encoder(rnn, num_layers, bidirectional)
        initial = initial_of(encoder, 5)
        found = encoder.encode(inputs, index, torch.tensor(LENGTHS), as_given(initial))
        last = each_of(found.last)
        assert [t.shape for t in last] == [t.shape for t in initial]
        for k, tokens in enumerate(index.split(LENGTHS)):
            of_sequence = tuple(t[:, k] for t in initial)
            if len(tokens):
                states, ends = encoder.rnn(inputs[tokens], as_given(of_sequence))
                assert_close(found.states.split(LENGTHS)[k], states, rtol=0, atol=1e-12)
                of_sequence = each_of(ends)
            # A sequence without tokens ends where it began.
            assert_close(tuple(t[:, k] for t in last), of_sequence, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("rnn", ["gru", "lstm"])
    def test_without_initial_states_they_are_zero(self, make_encoder, inputs, index, rnn):
        encoder, lengths = make_encoder(rnn, 2, True), torch.tensor(LENGTHS)
        zeros = as_given(tuple(map(torch.zeros_like, initial_of(encoder, 5))))
        found = encoder.encode(inputs, index, lengths)
        assert torch.equal(found.states, encoder(inputs, index, lengths))
        assert_close(found, encoder.encode(inputs, index, lengths, zeros), rtol=0, atol=0)

    @pytest.mark.parametrize("rnn", ["gru", "lstm"])
    @pytest.mark.parametrize("given", [False, True])
    def test_no_tokens_end_where_they_began(self, make_encoder, rnn, given):
        encoder = make_encoder(rnn, 2, True)
        initial, no_index = initial_of(encoder, 2), torch.empty(0, dtype=torch.int64)
        start = as_given(initial) if given else None
        states, last = encoder.encode(
            torch.empty(0, 3).double(), no_index, torch.tensor([0, 0]), start
        )
        assert states.shape == (0, 10)
        expected = initial if given else tuple(map(torch.zeros_like, initial))
        assert_close(each_of(last), expected, rtol=0, atol=0)
