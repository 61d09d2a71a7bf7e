"""PyTorch's recurrent networks over ragged sequences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from sk_han.nn import BidirectionalGRU, PackedRNN
from sk_han.nn.encoders.gru import recurrent_encoder

LENGTHS = [3, 0, 7, 1, 2]
KINDS = list(product(["gru", "lstm", "rnn"], [1, 2], [True, False]))
each_kind = pytest.mark.parametrize(("rnn", "num_layers", "bidirectional"), KINDS)


@pytest.fixture
def inputs() -> Tensor:
    """Eleven distinct inputs of size 3."""
    return torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3)


@pytest.fixture
def index() -> Tensor:
    return torch.tensor([2, 9, 2, 2, 1, 3, 4, 4, 7, 9, 3, 2, 1])


@pytest.fixture
def make_encoder(fill: Callable[[nn.Module], None]) -> Callable[..., PackedRNN]:
    """Inputs of size 3, states of size 5 in each direction."""

    def make(*args: object) -> PackedRNN:
        encoder = PackedRNN(args[0], 3, 5, *args[1:]).double()
        fill(encoder)
        return encoder

    return make


def read(kind: str, layer: dict[str, Tensor], inputs: Tensor) -> Tensor:
    """One direction of one layer, as the docstring says, for a single sequence."""
    h = m = torch.zeros(5, dtype=torch.float64)
    W, V, b, c = (layer[name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    states = []
    for x in inputs:
        of_input, of_state = W @ x + b, V @ h + c
        if kind == "rnn":
            h = torch.tanh(of_input + of_state)
        elif kind == "lstm":
            i, f, g, o = (of_input + of_state).chunk(4)
            m = f.sigmoid() * m + i.sigmoid() * g.tanh()
            h = o.sigmoid() * m.tanh()
        else:
            (r, z, n), (r_h, z_h, n_h) = of_input.chunk(3), of_state.chunk(3)
            n = torch.tanh(n + (r + r_h).sigmoid() * n_h)
            h = (1 - (z + z_h).sigmoid()) * n + (z + z_h).sigmoid() * h
        states.append(h)
    return torch.stack(states)


@each_kind
def test_states_are_those_of_the_equations(
    make_encoder: Callable[..., PackedRNN],
    inputs: Tensor,
    index: Tensor,
    rnn: str,
    num_layers: int,
    bidirectional: bool,
) -> None:
    encoder = make_encoder(rnn, num_layers, bidirectional)
    weights = encoder.rnn.state_dict()
    expected = []
    for states in inputs[index].split([n for n in LENGTHS if n]):
        for k in range(num_layers):
            directions = []
            for suffix in [f"_l{k}", f"_l{k}_reverse"][: 1 + bidirectional]:
                layer = {
                    name.removesuffix(suffix): weight
                    for name, weight in weights.items()
                    if name.endswith(suffix)
                }
                sequence = states.flip(0) if "reverse" in suffix else states
                found = read(rnn, layer, sequence)
                directions.append(found.flip(0) if "reverse" in suffix else found)
            states = torch.cat(directions, dim=1)
        expected.append(states)
    found = encoder(inputs, index, torch.tensor(LENGTHS))
    assert found.shape == (13, encoder.output_size)
    assert_close(found, torch.cat(expected), rtol=0, atol=1e-12)


@each_kind
def test_weights_start_as_those_of_torch(rnn: str, num_layers: int, bidirectional: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    encoder = PackedRNN(rnn, 5, 101, num_layers, bidirectional, generator)
    classes = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
    reference = classes[rnn](5, 101, num_layers=num_layers, bidirectional=bidirectional)
    shapes = {name: weight.shape for name, weight in reference.named_parameters()}
    assert {name: weight.shape for name, weight in encoder.rnn.named_parameters()} == shapes
    highest = max(weight.abs().max().item() for weight in encoder.parameters())
    assert highest == pytest.approx(101**-0.5, rel=1e-3)


def test_no_tokens_give_no_states(make_encoder: Callable[..., PackedRNN]) -> None:
    no_index = torch.empty(0, dtype=torch.int64)
    encoder = make_encoder("lstm", 2, True)
    assert encoder(torch.empty(0, 3).double(), no_index, torch.tensor([0, 0])).shape == (0, 10)


def test_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    PackedRNN("lstm", 3, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


@each_kind
def test_the_body_written_by_hand_is_taken_where_there_is_one(
    rnn: str, num_layers: int, bidirectional: bool
) -> None:
    encoder = recurrent_encoder(rnn, 3, 5, num_layers, bidirectional, None)
    by_hand = (rnn, num_layers, bidirectional) == ("gru", 1, True)
    assert type(encoder) is (BidirectionalGRU if by_hand else PackedRNN)
