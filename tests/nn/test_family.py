"""What holds for every member of the family, and which options exclude each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from sk_han.nn import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.pooling.multi_hop import document_overlap

MakeNetwork = Callable[..., HierarchicalAttentionNetwork]

OPTIONS: dict[str, dict[str, Any]] = {
    "lstm": {"rnn": "lstm"},
    "simple rnn": {"rnn": "rnn"},
    "two layers": {"num_layers": 2},
    "one direction": {"bidirectional": False},
    "mean": {"pooling": "mean"},
    "max": {"pooling": "max"},
    "last": {"pooling": "last"},
    "last of one direction": {"pooling": "last", "bidirectional": False},
    "sparsemax": {"attention": "sparsemax"},
    "entmax15": {"attention": "entmax15"},
    "hops": {"attention_hops": 3},
    "hops of sparsemax": {"attention_hops": 3, "attention": "sparsemax"},
    "states that differ": {"diversity_penalty": 0.7},
    "context": {"context": "forward"},
    "context of both sides": {"context": "bidirectional", "context_pooling": "sum"},
    "gated context": {"context": "bidirectional", "context_gated": True},
    "much at once": {
        "rnn": "lstm",
        "num_layers": 2,
        "bidirectional": False,
        "context": "forward",
        "context_gated": True,
        "attention": "entmax15",
        "diversity_penalty": 0.7,
    },
}
each_member = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def sums(weights: Tensor, lengths: Tensor) -> list[float]:
    return [part.sum().item() for part in weights.split(lengths.tolist())]


def part_of(batch: Any, numbers: list[int]) -> Any:
    """Some documents of the batch, in this order."""
    sentences = batch.sentences_per_document
    words_per_sentence = batch.words_per_sentence.split(sentences.tolist())
    word_ids = batch.word_ids.split([int(words.sum()) for words in words_per_sentence])
    return type(batch)(
        torch.cat([word_ids[i] for i in numbers]),
        torch.cat([words_per_sentence[i] for i in numbers]),
        sentences[numbers],
    )


def loss_of(output: HANOutput) -> Tensor:
    """A loss to which logits, attentions and penalty contribute."""
    return sum((torch.sin(torch.arange(t.numel())).view_as(t).to(t) * t).sum() for t in output)


@each_member
class TestEveryMember:
    def test_weights_sum_to_one(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        output = make_network(**options).attend(*batch)
        assert output.word_attention.shape == (29,)
        assert output.sentence_attention.shape == (11,)
        assert output.word_attention.min() >= 0
        assert output.sentence_attention.min() >= 0
        of_sentences = sums(output.word_attention, batch.words_per_sentence)
        of_documents = sums(output.sentence_attention, batch.sentences_per_document)
        assert of_sentences == pytest.approx([1] * 11, abs=1e-12)
        assert of_documents == pytest.approx([1, 0, 1, 1, 1], abs=1e-12)

    def test_a_document_does_not_depend_on_its_neighbours(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(torch.float32, **options)
        together = network.attend(*batch)
        alone = [network.attend(*part_of(batch, [i])) for i in range(5)]
        for whole, parts in zip(together, zip(*alone, strict=True), strict=True):
            assert_close(whole, torch.cat(parts), rtol=0, atol=1e-6)

    def test_the_order_of_documents_does_not_matter(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network, order = make_network(torch.float32, **options), [3, 1, 4, 0, 2]
        shuffled = network(*part_of(batch, order))
        assert_close(shuffled, network(*batch)[order], rtol=0, atol=1e-6)

    def test_an_empty_document_has_the_logits_of_the_zero_vector(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(**options)
        output = network.attend(*part_of(batch, [1, 1]))
        assert torch.equal(output.logits, network.output.bias.expand(2, 2))
        assert output.penalty.tolist() == [0, 0]

    def test_no_documents_have_no_logits(
        self, make_network: MakeNetwork, options: dict[str, Any]
    ) -> None:
        nothing = torch.empty(0, dtype=torch.int64)
        assert make_network(**options)(nothing, nothing, nothing).shape == (0, 2)

    def test_gradients_reach_every_parameter(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(**options)
        network(*batch).square().sum().backward()
        without = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
        assert without == []

    def test_parts_change_neither_results_nor_gradients(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        found = []
        for max_words in (5, 29):
            network = make_network(max_words=max_words, **options)
            output = network.attend(*batch)
            weights = list(network.parameters())
            found.append([output, torch.autograd.grad(loss_of(output), weights)])
        assert_close(*found, rtol=0, atol=1e-12)

    def test_the_same_seed_gives_the_same_bits_in_training(
        self, batch: Any, options: dict[str, Any]
    ) -> None:
        def gradients() -> list[Tensor]:
            network = HierarchicalAttentionNetwork(
                17,
                2,
                embedding_dim=3,
                dropout=0.3,
                word_dropout=0.2,
                embedding_dropout=0.3,
                generator=torch.Generator().manual_seed(7),
                **options,
            )
            loss_of(network.attend(*batch)).backward()
            return [parameter.grad for parameter in network.parameters()]

        before = torch.get_rng_state()
        assert all(map(torch.equal, gradients(), gradients()))
        assert torch.equal(torch.get_rng_state(), before)

    def test_weights_survive_a_state_dict(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(torch.float32, **options)
        sizes = {"embedding_dim": 3, "word_hidden": 5, "sentence_hidden": 7, "attention_dim": 19}
        fresh = HierarchicalAttentionNetwork(17, 2, **sizes, **options)
        fresh.load_state_dict(network.state_dict())
        assert torch.equal(fresh(*batch), network(*batch))

    def test_a_table_of_projected_words_changes_nothing(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(**options).eval()
        with torch.inference_mode():
            expected = network(*batch)
            network.tabulate()
            assert_close(network(*batch), expected, rtol=0, atol=1e-12)

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    def test_a_gpu_gives_the_numbers_of_the_cpu(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any]
    ) -> None:
        network = make_network(**options)
        expected = network.attend(*batch)
        weights = list(network.parameters())
        expected_gradients = torch.autograd.grad(loss_of(expected), weights)
        network.to("cuda")
        found = network.attend(batch.word_ids.to("cuda"), *batch[1:])
        gradients = torch.autograd.grad(loss_of(found), list(network.parameters()))
        assert_close([t.cpu() for t in found], list(expected), rtol=0, atol=1e-10)
        assert_close([g.cpu() for g in gradients], list(expected_gradients), rtol=0, atol=1e-10)


class TestSparseAttention:
    @pytest.mark.parametrize("attention", ["sparsemax", "entmax15"])
    @pytest.mark.parametrize(
        "options", [{}, {"attention_hops": 3}, {"context": "bidirectional"}], ids=str
    )
    def test_it_leaves_words_and_sentences_out_where_softmax_does_not(
        self, make_network: MakeNetwork, batch: Any, options: dict[str, Any], attention: str
    ) -> None:
        n_zeros = []
        for kind in ("softmax", attention):
            network = make_network(attention=kind, **options)
            with torch.no_grad():
                for name, weight in network.named_parameters():
                    weight.mul_(40 if name.endswith(".context") else 1)
            output = network.attend(*batch)
            n_zeros.append(
                [int((w == 0).sum()) for w in (output.word_attention, output.sentence_attention)]
            )
        assert n_zeros[0] == [0, 0]
        assert min(n_zeros[1]) > 0


class TestHops:
    def test_attention_is_the_mean_of_the_hops(self, make_network: MakeNetwork, batch: Any) -> None:
        network, found = make_network(attention_hops=3), []
        network.word_attention.pool = keep_weights(network.word_attention.pool, found)
        output = network.attend(*batch)
        assert_close(output.word_attention, found[0].mean(1))

    def test_penalty_is_the_overlap_times_its_factor(
        self, make_network: MakeNetwork, batch: Any
    ) -> None:
        network, found = make_network(attention_hops=3, hop_penalty=0.5), []
        for level in (network.word_attention, network.sentence_attention):
            level.pool = keep_weights(level.pool, found)
        penalty = network.attend(*batch).penalty
        words, sentences = found
        overlap = document_overlap(
            words, batch.words_per_sentence, sentences, batch.sentences_per_document
        )
        assert overlap[[0, 2, 3, 4]].min() > 0.1
        assert_close(penalty, overlap / 2)

    def test_one_hop_has_no_penalty(self, make_network: MakeNetwork, batch: Any) -> None:
        assert make_network(hop_penalty=5.0).attend(*batch).penalty.tolist() == [0] * 5


def keep_weights(pool: Callable[..., Any], found: list[Tensor]) -> Callable[..., Any]:
    def keeping(*args: Tensor) -> tuple[Tensor, Tensor]:
        pooled, weights = pool(*args)
        found.append(weights)
        return pooled, weights

    return keeping


class TestFlatDocuments:
    def test_one_sentence_is_a_bidirectional_classifier_with_attention(
        self, make_network: MakeNetwork
    ) -> None:
        network, word_ids = make_network(), torch.tensor([2, 3, 5, 2, 7])
        found = network.attend(word_ids, torch.tensor([5]), torch.tensor([1]))
        assert found.sentence_attention.tolist() == [1]

        states, _ = network.word_encoder.gru(network.embedding.weight[word_ids])
        attention = network.word_attention
        u = torch.tanh(states @ attention.weight.T + attention.bias)
        alpha = (u @ attention.context).softmax(0)
        assert_close(found.word_attention, alpha, rtol=0, atol=1e-12)
        # Of the one sentence vector the sentence level makes a layer between it and the logits.
        layer, _ = network.sentence_encoder.gru((alpha @ states)[None])
        assert_close(found.logits, network.output(layer), rtol=0, atol=1e-12)


class TestEmbeddingDropout:
    def test_a_word_is_dropped_wherever_it_stands(self, make_network: MakeNetwork) -> None:
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

    def test_parts_drop_the_same_words(self, make_network: MakeNetwork, batch: Any) -> None:
        logits = [
            make_network(
                embedding_dropout=0.5,
                max_words=max_words,
                generator=torch.Generator().manual_seed(7),
            )(*batch)
            for max_words in (5, 29)
        ]
        assert_close(*logits, rtol=0, atol=1e-12)


class TestCombinations:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"pooling": "mean", "attention_hops": 2},
                "attention_hops=2 .* pooling='mean'.*Set attention_hops=1, or pooling='attention'",
            ),
            (
                {"pooling": "last", "context": "forward"},
                "context='forward' .* pooling='last'.*Set context=None, or pooling='attention'",
            ),
            (
                {"attention_hops": 2, "context": "forward"},
                "context='forward' .*attention_hops=2.*Set context=None, or attention_hops=1",
            ),
            ({"attention_hops": 0}, "attention_hops must be at least 1; got 0"),
            (
                {"pooling": "max", "attention": "sparsemax"},
                "attention='sparsemax' .* pooling='max'.*Set attention='softmax', or pooling=",
            ),
            (
                {"pooling": "max", "diversity_penalty": 0.5},
                "diversity_penalty=0.5 .* pooling='max'.*Set diversity_penalty=0, or pooling=",
            ),
            ({"attention": "hard"}, "attention must be one of 'softmax', .*; got 'hard'"),
            ({"rnn": "elman"}, "rnn must be one of 'gru', 'lstm', 'rnn'; got 'elman'"),
            ({"pooling": "sum"}, "pooling must be one of 'attention', 'mean', .*; got 'sum'"),
            ({"context": "both"}, "context must be one of None, 'forward', .*; got 'both'"),
            ({"context_pooling": "max"}, "context_pooling must be one of .*; got 'max'"),
        ],
    )
    def test_options_that_exclude_each_other_are_refused_with_the_repair(
        self, make_network: MakeNetwork, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            make_network(**options)

    def test_settings_of_what_is_switched_off_have_no_effect(
        self, make_network: MakeNetwork, batch: Any
    ) -> None:
        network = make_network(context_gated=True, context_pooling="sum", hop_penalty=3.0)
        assert torch.equal(network(*batch), make_network()(*batch))


@pytest.mark.parametrize(("embedding_dim", "is_there"), [(2, False), (16, True)])
def test_a_table_of_words_is_not_much_larger_than_their_vectors(embedding_dim, is_there):
    network = HierarchicalAttentionNetwork(11, 2, embedding_dim=embedding_dim, word_hidden=13)
    network.eval().tabulate()
    assert (network._projected is not None) is is_there
