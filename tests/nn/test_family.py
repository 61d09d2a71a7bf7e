"""What holds for every member of the family."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from sk_han import RNN, Attention, MultiHopAttention
from sk_han.nn import HierarchicalAttentionNetwork
from tests.gpu import needs_gpu

# In double precision, the others' own, PyTorch computes whatever the engine.
each_engine = pytest.mark.usefixtures("engine")

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "lstm": {"rnn": "lstm"},
    "simple rnn": {"rnn": "rnn"},
    "two layers": {"rnn": RNN(num_layers=2)},
    "one direction": {"rnn": RNN(bidirectional=False)},
    "mean": {"pooling": "mean"},
    "max": {"pooling": "max"},
    "last": {"pooling": "last"},
    "last of one direction": {"pooling": "last", "rnn": RNN(bidirectional=False)},
    "hops": {"pooling": MultiHopAttention(size=19, hops=3)},
    "labels": {"pooling": Attention(size=19, per_label=True)},
    "much at once": {
        "rnn": RNN(cell="lstm", num_layers=2, bidirectional=False),
        "pooling": MultiHopAttention(size=19, hops=2, per_label=True),
    },
}
each_member = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def sums(weights, lengths):
    return [part.sum().item() for part in weights.split(lengths.tolist())]


def loss_of(output):
    """A loss to which logits, attentions and penalty contribute."""
    return sum((torch.sin(torch.arange(t.numel())).view_as(t).to(t) * t).sum() for t in output)


@each_member
class TestEveryMember:
    def test_weights_sum_to_one(self, make_network, batch, options):
        output = make_network(**options).attend(*batch)
        assert output.word_attention.shape == (29,)
        assert output.sentence_attention.shape == (11,)
        assert output.word_attention.min() >= 0
        assert output.sentence_attention.min() >= 0
        of_sentences = sums(output.word_attention, batch.words_per_sentence)
        of_documents = sums(output.sentence_attention, batch.sentences_per_document)
        assert of_sentences == pytest.approx([1] * 11, abs=1e-12)
        assert of_documents == pytest.approx([1, 0, 1, 1, 1], abs=1e-12)

    @each_engine
    def test_outputs_of_a_document_do_not_depend_on_other_documents(
        self, make_network, batch, options
    ):
        network = make_network(torch.float32, **options)
        together = network.attend(*batch)
        alone = [network.attend(*batch.part([i])) for i in range(5)]
        for whole, parts in zip(together, zip(*alone, strict=True), strict=True):
            assert_close(whole, torch.cat(parts), rtol=0, atol=1e-6)

    def test_an_empty_document_has_the_logits_of_the_zero_vector(
        self, make_network, batch, options
    ):
        network, nothing = make_network(**options), torch.empty(0, dtype=torch.int64)
        assert network(nothing, nothing, nothing).shape == (0, 2)
        output = network.attend(*batch.part([1, 1]))
        assert torch.equal(output.logits, network.output.bias.expand(2, 2))
        assert output.penalty.tolist() == [0, 0]
        output.logits.sum().backward()
        assert network.output.bias.grad.tolist() == [2, 2]
        others = [p.grad for p in network.parameters() if p is not network.output.bias]
        assert all(gradient is None or gradient.eq(0).all() for gradient in others)

    def test_gradients_reach_every_parameter(self, make_network, batch, options):
        network = make_network(**options)
        network(*batch).square().sum().backward()
        without = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
        assert without == []

    def test_max_words_changes_neither_results_nor_gradients(self, make_network, batch, options):
        found = []
        for max_words in (5, 29):
            network = make_network(max_words=max_words, **options)
            output = network.attend(*batch)
            weights = list(network.parameters())
            found.append([output, torch.autograd.grad(loss_of(output), weights)])
        assert_close(*found, rtol=0, atol=1e-12)

    @each_engine
    def test_the_same_seed_gives_the_same_bits_in_training(self, batch, options):
        def gradients():
            network = HierarchicalAttentionNetwork(
                17,
                2,
                embedding_dim=3,
                embedding_dropout=0.3,
                generator=torch.Generator().manual_seed(7),
                **options,
            )
            loss_of(network.attend(*batch)).backward()
            return [parameter.grad for parameter in network.parameters()]

        before = torch.get_rng_state()
        assert all(map(torch.equal, gradients(), gradients()))
        assert torch.equal(torch.get_rng_state(), before)

    def test_a_table_of_projected_words_changes_nothing(self, make_network, batch, options):
        network = make_network(**options).eval()
        with torch.inference_mode():
            expected = network(*batch)
            network.tabulate()
            assert_close(network(*batch), expected, rtol=0, atol=1e-12)

    @needs_gpu
    def test_a_gpu_and_the_cpu_give_the_same_results(self, make_network, batch, options):
        network = make_network(**options)
        expected = network.attend(*batch)
        weights = list(network.parameters())
        expected_gradients = torch.autograd.grad(loss_of(expected), weights)
        network.to("cuda")
        found = network.attend(batch.word_ids.to("cuda"), *batch[1:])
        gradients = torch.autograd.grad(loss_of(found), list(network.parameters()))
        assert_close([t.cpu() for t in found], list(expected), rtol=0, atol=1e-10)
        assert_close([g.cpu() for g in gradients], list(expected_gradients), rtol=0, atol=1e-10)


def test_attention_is_the_mean_of_hops(make_network, batch):
    network, found = make_network(pooling=MultiHopAttention(size=19, hops=3)), []
    network.word_attention.pool = keep_weights(network.word_attention.pool, found)
    output = network.attend(*batch)
    assert not torch.allclose(found[0][:, 0], found[0][:, 1])
    assert_close(output.word_attention, found[0].mean(1))


class TestHops:
    def test_the_penalty_is_the_overlap_times_the_penalty_factor(self, make_network, batch):
        pooling = MultiHopAttention(size=19, hops=3, penalty=0.5)
        network, found = make_network(pooling=pooling), []
        for level in (network.word_attention, network.sentence_attention):
            level.pool = keep_weights(level.pool, found)
        penalty = network.attend(*batch).penalty
        words, sentences = found

        def overlaps(weights, lengths):
            """``||A A^T - I||^2`` of each sequence that is not empty, else 0."""
            parts = (part.T for part in weights.split(lengths.tolist()))
            identity = torch.eye(3).double()
            each = [(A @ A.T - identity).square().sum() * (A.shape[1] > 0) for A in parts]
            return torch.stack(each)

        of_sentences = overlaps(words, batch.words_per_sentence).split([2, 0, 1, 1, 7])
        of_words = torch.stack([part.sum() / max(len(part), 1) for part in of_sentences])
        overlap = of_words + overlaps(sentences, batch.sentences_per_document)
        assert overlap[[0, 2, 3, 4]].min() > 0.1
        assert_close(penalty, overlap / 2)

    def test_one_hop_has_no_penalty(self, make_network, batch):
        pooling = MultiHopAttention(size=19, hops=1, penalty=5.0)
        assert make_network(pooling=pooling).attend(*batch).penalty.tolist() == [0] * 5


def keep_weights(pool, found):
    def keeping(*args):
        pooled, weights = pool(*args)
        found.append(weights)
        return pooled, weights

    return keeping


class TestEmbeddingDropout:
    def test_embedding_dropout_drops_all_occurrences_of_a_word(self, make_network):
        generator = torch.Generator().manual_seed(0)
        network, found = make_network(embedding_dropout=0.5, generator=generator), []
        network.word_encoder.register_forward_pre_hook(lambda _, args: found.append(args))
        batch = torch.arange(1, 14).repeat(2), torch.tensor([13, 13]), torch.tensor([1, 1])
        network(*batch)
        network.eval()(*batch)
        (in_training, index, _), (in_evaluation, _, _) = found
        vectors = in_training[index]
        assert torch.equal(vectors[:13], vectors[13:])
        kept = in_training.ne(0).any(1)
        assert 0 < kept.sum() < len(kept)
        assert torch.equal(in_training[kept], 2 * in_evaluation[kept])


@pytest.mark.parametrize(("embedding_dim", "is_there"), [(2, False), (16, True)])
def test_the_table_of_projected_words_is_limited_in_size(embedding_dim, is_there, engine):
    network = HierarchicalAttentionNetwork(11, 2, embedding_dim=embedding_dim, word_hidden=13)
    network.eval().tabulate()
    assert (network._projected is not None) is (is_there and engine == "numba")
