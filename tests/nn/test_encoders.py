"""Recurrent networks over ragged sequences: kernels, PyTorch and each sequence alone agree."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han import RNN
from sk_han.nn import BidirectionalGRU, HierarchicalAttentionNetwork, PackedRNN

TOLERANCE = {"numba": 1e-6, "torch": 1e-12}  # single and double precision
with_kernels = pytest.mark.parametrize("engine", ["numba"], indirect=True)


@pytest.fixture
def dtype(engine):
    """The type of numbers that an engine computes with."""
    return torch.float32 if engine == "numba" else torch.float64


@pytest.fixture
def atol(engine):
    return TOLERANCE[engine]


@pytest.fixture
def index():
    """Thirteen tokens: input 2 stands at four of them, inputs 0, 5, 6, 8 and 10 at none."""
    return torch.tensor([2, 9, 2, 2, 1, 3, 4, 4, 7, 9, 3, 2, 1])


@pytest.fixture
def inputs(dtype):
    """Eleven distinct inputs of size 3."""
    return torch.cos(torch.arange(33, dtype=dtype)).view(11, 3)


@pytest.fixture
def encoder(fill, engine, dtype):
    """Inputs of size 3, states of size 5 in each direction."""
    encoder = BidirectionalGRU(input_size=3, hidden_size=5).to(dtype)
    fill(encoder)
    assert encoder.has_kernels == (engine == "numba")
    return encoder


def loss_of(states):
    return (torch.sin(torch.arange(states.numel())).view_as(states) * states).sum()


def states_and_gradients(encoder, inputs, index, lengths):
    inputs = inputs.detach().clone().requires_grad_()
    states = encoder(inputs, index, lengths)
    return [states, *torch.autograd.grad(loss_of(states), [inputs, *encoder.parameters()])]


@with_kernels
class TestWhatKernelsTake:
    def test_kernels_need_single_precision_and_the_cpu(self, encoder):
        assert encoder.has_kernels
        assert not encoder.double().has_kernels
        assert not encoder.float().to("meta").has_kernels

    @pytest.mark.parametrize("index", [[0, 11, 1], [-1, 0, 1]])
    def test_an_index_beyond_the_inputs_is_refused(self, encoder, inputs, index):
        with pytest.raises(IndexError, match="there are 11 inputs"):
            encoder(inputs, torch.tensor(index), torch.tensor([3]))

    @pytest.mark.parametrize("name", ["index", "lengths"])
    def test_positions_of_another_type_are_refused_by_name(self, encoder, inputs, name):
        positions = {"index": torch.tensor([0, 1, 2]), "lengths": torch.tensor([3])}
        positions[name] = positions[name].int()
        with pytest.raises(TypeError, match=f"{name} must be of int64; got int32"):
            encoder(inputs, **positions)

    def test_nan_is_propagated_and_large_inputs_saturate(self, encoder, inputs):
        index, lengths = torch.zeros(7, dtype=torch.int64), torch.tensor([7])
        assert encoder(inputs * 1e30, index, lengths).isfinite().all()
        with torch.no_grad():
            for direction in ("", "_reverse"):
                getattr(encoder.gru, f"weight_hh_l0{direction}").fill_(float("nan"))
        assert encoder(inputs, index, lengths)[1:-1].isnan().all()


@pytest.mark.usefixtures("engine")
class TestBidirectionalGRU:
    def test_states_worked_by_hand(self, dtype, atol):
        # Without weights both gates are 1/2, and the candidate is tanh of its bias: let it be 1/2.
        # Then h becomes (1/2 + h) / 2 from step to step.
        encoder = BidirectionalGRU(input_size=1, hidden_size=1).to(dtype)
        with torch.no_grad():
            for weight in encoder.parameters():
                weight.zero_()
            half = torch.tensor(0.5, dtype=dtype)
            encoder.gru.bias_ih_l0[2] = encoder.gru.bias_ih_l0_reverse[2] = half.atanh()
        one_input, index = torch.zeros(1, 1, dtype=dtype), torch.tensor([0, 0, 0])
        states = encoder(one_input, index, torch.tensor([3]))
        expected = [[1 / 4, 7 / 16], [3 / 8, 3 / 8], [7 / 16, 1 / 4]]
        assert_close(states, torch.tensor(expected, dtype=dtype), rtol=0, atol=atol)


@pytest.mark.usefixtures("engine")
class TestBackward:
    @pytest.fixture
    def inputs(self, dtype):
        return torch.cos(torch.arange(9, dtype=dtype)).view(3, 3).requires_grad_()

    @pytest.fixture
    def index(self):
        return torch.tensor([2, 0, 2, 1, 1, 2, 0])

    @pytest.fixture
    def lengths(self):
        return torch.tensor([2, 0, 3, 1, 1])

    def gradients_of(self, encoder, states, **kwargs):
        return list(torch.autograd.grad(loss_of(states), list(encoder.parameters()), **kwargs))

    def test_gradients_of_inputs_alone_are_the_same(self, encoder, inputs, index, lengths):
        def gradient():
            return torch.autograd.grad(encoder(inputs, index, lengths).square().sum(), inputs)[0]

        expected = gradient()
        encoder.requires_grad_(False)
        assert torch.equal(gradient(), expected)

    def test_calls_do_not_disturb_each_other(self, encoder, inputs, index, lengths):
        before = [inputs.detach().clone(), index.clone(), lengths.clone()]
        with torch.inference_mode():
            predicted = encoder(inputs, index, lengths).clone()
        with torch.no_grad():  # as in a validation step
            validated = encoder(inputs, index, lengths)
        states = encoder(inputs, index, lengths)
        kept = states.detach().clone()
        first = self.gradients_of(encoder, states, retain_graph=True)
        self.gradients_of(encoder, encoder(2 * inputs, index.repeat(7), lengths.repeat(7)))
        assert all(map(torch.equal, [predicted, validated, states], [kept] * 3))
        assert all(map(torch.equal, self.gradients_of(encoder, states), first))
        assert all(map(torch.equal, [inputs.detach(), index, lengths], before))

    def test_threads_do_not_disturb_each_other(self, encoder, inputs, index, lengths):
        def gradients_at(scale):
            return [
                self.gradients_of(encoder, encoder(scale * inputs, index, lengths))
                for _ in range(11)
            ]

        expected = [gradients_at(scale)[0] for scale in range(5)]
        contexts = [copy_context() for _ in range(5)]  # which know the engine
        with ThreadPoolExecutor(5) as pool:
            of_threads = pool.map(lambda c, scale: c.run(gradients_at, scale), contexts, range(5))
            for scale, repeated in enumerate(of_threads):
                assert all(all(map(torch.equal, found, expected[scale])) for found in repeated)


OF_FIVE = [3, 0, 7, 1, 2]
KINDS = list(product(["gru", "lstm", "rnn"], [1, 2], [True, False]))
each_kind = pytest.mark.parametrize(("rnn", "num_layers", "bidirectional"), KINDS)


class TestPackedRNN:
    @pytest.fixture
    def inputs(self):
        return torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3)

    @pytest.fixture
    def make_encoder(self, fill):
        """Inputs of size 3, states of size 5 in each direction."""

        def make(*args):
            encoder = PackedRNN(args[0], 3, 5, *args[1:]).double()
            fill(encoder)
            return encoder

        return make

    @each_kind
    def test_only_the_default_rnn_has_kernels(self, rnn, num_layers, bidirectional):
        options = RNN(cell=rnn, num_layers=num_layers, bidirectional=bidirectional)
        encoder = HierarchicalAttentionNetwork(7, 2, rnn=options).word_encoder
        by_hand = (rnn, num_layers, bidirectional) == ("gru", 1, True)
        assert type(encoder) is (BidirectionalGRU if by_hand else PackedRNN)

    @each_kind
    def test_states_match_torch_for_each_sequence_alone(
        self, make_encoder, inputs, index, rnn, num_layers, bidirectional
    ):
        encoder = make_encoder(rnn, num_layers, bidirectional)
        states = encoder(inputs, index, torch.tensor(OF_FIVE)).split(OF_FIVE)
        for found, tokens in zip(states, index.split(OF_FIVE), strict=True):
            if len(tokens):
                assert_close(found, encoder.rnn(inputs[tokens])[0], rtol=0, atol=1e-12)


def encoders(rnn, num_layers, bidirectional, **sizes):
    """Return the encoder of these options, and the one written by hand where there is one."""
    yield PackedRNN(rnn, *sizes.values(), num_layers, bidirectional)
    if (rnn, num_layers, bidirectional) == ("gru", 1, True):
        yield BidirectionalGRU(*sizes.values())


@each_kind
def test_initial_weights_have_the_shapes_and_range_of_torch(rnn, num_layers, bidirectional):
    classes = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
    reference = classes[rnn](5, 101, num_layers=num_layers, bidirectional=bidirectional)
    shapes = {name: weight.shape for name, weight in reference.named_parameters()}
    for encoder in encoders(rnn, num_layers, bidirectional, E=5, H=101):
        (network,) = encoder.children()
        assert {name: weight.shape for name, weight in network.named_parameters()} == shapes
        highest = max(weight.abs().max().item() for weight in encoder.parameters())
        assert highest == pytest.approx(101**-0.5, rel=1e-3)


@each_kind
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_tokens_give_no_states_and_gradients_of_zero(
    rnn, num_layers, bidirectional, lengths, engine
):
    lengths, no_index = torch.tensor(lengths).long(), torch.empty(0, dtype=torch.int64)
    for encoder in encoders(rnn, num_layers, bidirectional, E=3, H=5):
        states = encoder(torch.empty(0, 3), no_index, lengths)
        assert states.shape == (0, 10 if bidirectional else 5)
        states.sum().backward()
        assert not any(weight.grad.any() for weight in encoder.parameters())


@pytest.mark.parametrize("lengths", [[2, 2], [2, 2, 2], [6, -1]])
@pytest.mark.parametrize("rnn", ["gru", "lstm"])
def test_lengths_that_do_not_sum_to_the_tokens_are_refused(rnn, lengths, engine):
    for encoder in encoders(rnn, 1, True, E=3, H=5):
        with pytest.raises(ValueError, match="add up to 5 tokens"):
            encoder(torch.ones(11, 3), torch.arange(5), torch.tensor(lengths))
