"""Kernels, and recurrent networks in pieces, against PyTorch in double precision."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from sk_han import Attention
from sk_han.nn import AttentionPooling, BidirectionalGRU, PackedRNN, _encoders

KINDS = list(product(["gru", "lstm", "rnn"], [1, 2], [True, False]))
# Below, at and beyond the 16 numbers of a vector, and the rows of a block.
LENGTHS = {
    "several": [3, 1, 7, 2, 5],
    "empty ones": [0, 3, 0, 2, 0],
    "more than a block": [2, 3, 5, 7, 11, 2, 1, 1, 4, 4, 4, 6, 13],
    "a long one": [300, 3],
    "one token": [1],
    "none": [],
}
each_lengths = pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
with_kernels = pytest.mark.parametrize("engine", ["numba"], indirect=True)


@pytest.fixture(params=[1, 3])
def _threads(request, monkeypatch):
    monkeypatch.setattr("sk_han._kernels.engine._ROWS_A_THREAD", 1)
    torch.set_num_threads(request.param)


def seeded():
    return torch.Generator().manual_seed(0)


def loss_of(outputs):
    return sum((torch.sin(torch.arange(o.numel())).view_as(o) * o).sum() for o in outputs)


def outputs_and_gradients(compute, module, inputs):
    inputs = inputs.detach().clone().requires_grad_()
    outputs = compute(inputs)
    return [*outputs, *torch.autograd.grad(loss_of(outputs), [inputs, *module.parameters()])]


def assert_those_of_double_precision(compute, module, inputs):
    single = outputs_and_gradients(compute, module, inputs)
    double = outputs_and_gradients(compute, module.double(), inputs.double())
    n_terms = max(size for values in double for size in values.shape)
    for value, exact in zip(single, double, strict=True):
        # The rounding of a sum grows with the square root of the number of its terms.
        largest = exact.abs().max().item() if exact.numel() else 0.0
        bound = (1 + largest) * (2e-6 + 4e-7 * n_terms**0.5)
        assert_close(value.double(), exact, rtol=2e-5, atol=bound)


@with_kernels
@pytest.mark.usefixtures("engine", "_threads")
class TestKernels:
    @pytest.mark.parametrize("H", [1, 5, 16, 17, 37, 50])
    @each_lengths
    def test_recurrent_states_of_any_lengths_match_double_precision(self, H, lengths):
        encoder, index = BidirectionalGRU(3, H, seeded()), torch.arange(sum(lengths)) * 5 % 7
        args = index, torch.tensor(lengths, dtype=torch.int64)
        inputs = torch.randn(7, 3, generator=seeded())
        assert_those_of_double_precision(lambda x: [encoder(x, *args)], encoder, inputs)

    @pytest.mark.parametrize(("E", "H"), [(1, 1), (3, 5), (16, 16), (37, 2), (200, 50)])
    @pytest.mark.parametrize("U", [0, 1, 5, 7, 131, 300])
    def test_states_of_any_number_of_inputs_match_double_precision(self, E, H, U):
        encoder, args = BidirectionalGRU(E, H, seeded()), (torch.arange(U), torch.ones(U).long())
        inputs = torch.randn(U, E, generator=seeded())
        assert_those_of_double_precision(lambda x: [encoder(x, *args)], encoder, inputs)

    @pytest.mark.parametrize(("H", "A"), [(1, 1), (5, 16), (16, 37), (37, 5), (100, 100)])
    @each_lengths
    def test_attention_of_any_lengths_matches_double_precision(self, H, A, lengths):
        pooling, states = AttentionPooling(H, A, seeded()), torch.randn(sum(lengths), H)
        lengths = torch.tensor(lengths, dtype=torch.int64)
        assert_those_of_double_precision(lambda x: pooling.pool(x, lengths), pooling, states)

    def test_states_do_not_depend_on_threads_or_other_sequences(self):
        encoder, inputs = BidirectionalGRU(3, 17), torch.randn(7, 3)
        index, lengths = torch.arange(63) * 5 % 7, LENGTHS["more than a block"]
        together = encoder(inputs, index, torch.tensor(lengths))
        torch.set_num_threads(1)
        parts = [(part, torch.tensor([len(part)])) for part in index.split(lengths)]
        assert torch.equal(together, torch.cat([encoder(inputs, *part) for part in parts]))

    @pytest.mark.parametrize("lengths", [[2, 2], [4, -1], [1]])
    def test_lengths_that_do_not_sum_to_the_tokens_are_refused(self, lengths):
        with pytest.raises(ValueError, match="add up to 3 tokens"):
            AttentionPooling(5, 7).pool(torch.ones(3, 5), torch.tensor(lengths))

    def test_the_incoming_gradient_is_not_modified(self):
        states, gradient = torch.randn(3, 5).requires_grad_(), torch.arange(3.0)[:, None]
        outputs = AttentionPooling(5, 7).pool(states, torch.tensor([3]))
        torch.autograd.grad(outputs, states, (torch.ones(1, 5), gradient))
        assert gradient.flatten().tolist() == [0, 1, 2]

    def test_small_terms_of_long_sums_are_not_lost(self):
        # Equal states have equal weights, of which 300,000 sum to 1, and their mean is the state.
        with torch.no_grad():
            lengths = torch.tensor([300_000])
            pooled, weights = AttentionPooling(5, 7).pool(torch.ones(300_000, 5), lengths)
        assert weights.double().sum().item() == pytest.approx(1, abs=1e-6)
        assert_close(pooled, torch.ones(1, 5), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("rnn", "num_layers", "bidirectional"), KINDS)
@pytest.mark.parametrize(("block", "kept"), [(2, 1_000), (2, 3), (1, 5)])
def test_computing_steps_in_blocks_or_again_changes_nothing(
    fill, monkeypatch, rnn, num_layers, bidirectional, block, kept
):
    encoder = PackedRNN(rnn, 3, 5, num_layers, bidirectional).double()
    fill(encoder)
    args = torch.arange(43) * 5 % 11, torch.tensor([3, 0, 13, 1, 2, 5, 19])
    inputs, results = torch.cos(torch.arange(33, dtype=torch.float64)).view(11, 3), []
    for steps, most_kept in ((1_000, 1_000), (block, kept)):
        monkeypatch.setattr("sk_han.nn._encoders.STEPS_A_BLOCK", steps)
        monkeypatch.setattr("sk_han.nn._encoders.MOST_STEPS_KEPT", most_kept)
        results.append(outputs_and_gradients(lambda x: [encoder(x, *args)], encoder, inputs))
    assert_close(*results, rtol=0, atol=1e-12)


def test_backward_needs_training_mode_but_the_network_keeps_its_mode(
    make_network, batch, monkeypatch
):
    monkeypatch.setattr("sk_han.nn._encoders._in_blocks", _encoders._in_one_call)  # as on a GPU
    network, modes = make_network(rnn="lstm").eval(), []
    network.sentence_encoder.rnn.register_forward_hook(
        lambda module, *_: modes.append((torch.is_grad_enabled(), module.training))
    )
    network.gradient_attention(*batch, torch.ones_like)
    assert (True, True) in modes  # cuDNN would refuse (True, False)
    assert (True, False) not in modes
    assert not any(module.training for module in network.modules())


def test_label_attention_in_portions_has_the_same_gradients(make_network, batch, monkeypatch):
    network = make_network(pooling=Attention(size=19, per_label=True))
    results = []
    for numbers in (10**6, 3 * 2 * 2):  # of three words
        monkeypatch.setattr("sk_han.nn._poolings._NUMBERS_AT_ONCE", numbers)
        outputs = [network(*batch)]
        results.append(torch.autograd.grad(loss_of(outputs), list(network.parameters())))
    assert_close(*results, rtol=0, atol=1e-12)
