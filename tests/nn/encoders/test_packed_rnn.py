"""PyTorch's recurrent networks over ragged sequences."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han import RNN
from sk_han.nn import BidirectionalGRU, PackedRNN
from sk_han.nn import encoders as packed_rnn
from sk_han.nn.encoders import recurrent_encoder

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


@each_kind
@pytest.mark.parametrize(("block", "kept"), [(2, 1_000), (2, 3), (1, 5)])
def test_steps_that_are_computed_apart_and_again_change_nothing(
    make_encoder, monkeypatch, rnn, num_layers, bidirectional, block, kept
):
    encoder = make_encoder(rnn, num_layers, bidirectional)
    index = torch.arange(43) * 5 % 11
    lengths = torch.tensor([3, 0, 13, 1, 2, 5, 19])

    def outputs_and_gradients():
        inputs = torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3).requires_grad_()
        states = encoder(inputs, index, lengths)
        loss = (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()
        return [states, *torch.autograd.grad(loss, [inputs, *encoder.parameters()])]

    monkeypatch.setattr(packed_rnn, "STEPS_A_BLOCK", 1_000)
    at_once = outputs_and_gradients()
    monkeypatch.setattr(packed_rnn, "STEPS_A_BLOCK", block)
    monkeypatch.setattr(packed_rnn, "MOST_STEPS_KEPT", kept)
    assert_close(outputs_and_gradients(), at_once, rtol=0, atol=1e-12)


@each_kind
def test_states_are_those_of_torch_for_each_sequence_alone(
    make_encoder, inputs, index, rnn, num_layers, bidirectional
):
    encoder = make_encoder(rnn, num_layers, bidirectional)
    states = encoder(inputs, index, torch.tensor(LENGTHS)).split(LENGTHS)
    for found, tokens in zip(states, index.split(LENGTHS), strict=True):
        if len(tokens):
            assert_close(found, encoder.rnn(inputs[tokens])[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rnn", ["gru", "lstm"])
def test_no_tokens_give_no_states_and_gradients_of_zero(make_encoder, rnn):
    encoder, no_index = make_encoder(rnn, 2, True), torch.empty(0, dtype=torch.int64)
    no_inputs = torch.empty(0, 3, dtype=torch.float64)
    states = encoder(no_inputs, no_index, torch.tensor([0, 0]))
    assert states.shape == (0, 10)
    states.sum().backward()
    assert all(weight.grad.eq(0).all() for weight in encoder.parameters())


@pytest.mark.parametrize("lengths", [[2, 2], [2, 2, 2], [6, -1]])
def test_lengths_of_other_tokens_are_refused(make_encoder, inputs, lengths):
    with pytest.raises(ValueError, match="add up to 5 tokens"):
        make_encoder("lstm", 1, True)(inputs, torch.arange(5), torch.tensor(lengths))
