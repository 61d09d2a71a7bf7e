"""The whole network against a reference that reads one sentence at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from sk_han.nn import HANOutput, HierarchicalAttentionNetwork
from sk_han.options import Attention

pytestmark = pytest.mark.usefixtures("engine")

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
MakeNetwork = Callable[..., HierarchicalAttentionNetwork]


def one_at_a_time(network: HierarchicalAttentionNetwork, batch: Any) -> HANOutput:
    """Yang et al. (2016), equations 1 to 11, sentence by sentence in plain PyTorch."""

    def attend(states: Tensor, attention: Any) -> tuple[Tensor, Tensor]:
        u = torch.tanh(states @ attention.weight.T + attention.bias)
        scores = u @ attention.context
        weights = scores.exp() / scores.exp().sum()
        return (weights.unsqueeze(1) * states).sum(0), weights

    sentences, word_weights = [], []
    for word_ids in batch.word_ids.split(batch.words_per_sentence.tolist()):
        states, _ = network.word_encoder.gru(network.embedding.weight[word_ids])
        sentence, weights = attend(states, network.word_attention)
        sentences.append(sentence)
        word_weights.append(weights)

    documents, sentence_weights, first = [], [], 0
    for n_sentences in batch.sentences_per_document.tolist():
        if n_sentences == 0:
            documents.append(torch.zeros_like(network.output.weight[0]))
            continue
        of_document = torch.stack(sentences[first : first + n_sentences])
        states, _ = network.sentence_encoder.gru(of_document)
        document, weights = attend(states, network.sentence_attention)
        documents.append(document)
        sentence_weights.append(weights)
        first += n_sentences

    vectors = torch.stack(documents)
    logits = vectors @ network.output.weight.T + network.output.bias
    no_penalty = torch.zeros_like(logits[:, 0])
    weights = torch.cat(word_weights), torch.cat(sentence_weights)
    return HANOutput(logits, *weights, no_penalty, vectors)


def gradients(network: HierarchicalAttentionNetwork, output: HANOutput) -> dict[str, Tensor]:
    """Gradients of a loss to which logits and both attentions contribute."""
    loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in output)
    found = torch.autograd.grad(loss, list(network.parameters()))
    return dict(zip(dict(network.named_parameters()), found, strict=True))


def document(batch: Any, number: int) -> Any:
    """One document of the batch alone."""
    n_sentences = batch.sentences_per_document.tolist()
    words_per_sentence = batch.words_per_sentence.split(n_sentences)
    n_words = [int(words.sum()) for words in words_per_sentence]
    return type(batch)(
        batch.word_ids.split(n_words)[number],
        words_per_sentence[number],
        batch.sentences_per_document[number : number + 1],
    )


def joined(documents: list[Any]) -> Any:
    """Documents in one batch."""
    return type(documents[0])(*(torch.cat(parts) for parts in zip(*documents, strict=True)))


def test_output_equals_one_sentence_at_a_time(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network()
    assert_close(network.attend(*batch), one_at_a_time(network, batch), rtol=0, atol=1e-12)


def test_gradients_equal_one_sentence_at_a_time(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network()
    found = gradients(network, network.attend(*batch))
    expected = gradients(network, one_at_a_time(network, batch))
    assert all(gradient.ne(0).any() for gradient in found.values())
    assert_close(found, expected, rtol=0, atol=1e-12)


def test_single_precision_is_close_to_one_sentence_at_a_time(
    make_network: MakeNetwork, batch: Any
) -> None:
    single, double = make_network(torch.float32), make_network()
    expected = one_at_a_time(double, batch)
    for found, reference in zip(single.attend(*batch), expected, strict=True):
        assert_close(found, reference.float(), rtol=0, atol=1e-6)


def test_forward_gives_the_logits_of_attend(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network()
    logits = network(*batch)
    assert logits.shape == (5, 2)
    assert torch.equal(logits, network.attend(*batch).logits)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_logits_are_the_last_layer_of_the_document_vectors(
    make_network: MakeNetwork, batch: Any, dropout: float
) -> None:
    network = make_network(dropout=dropout, generator=torch.Generator().manual_seed(7))
    output = network.attend(*batch)
    assert output.vectors.shape == (5, 14)
    assert output.vectors.eq(0).all(1).tolist() == [False, True, False, False, False]
    assert (output.vectors[0] == 0).any() == (dropout > 0)
    expected = output.vectors @ network.output.weight.T + network.output.bias
    assert_close(output.logits, expected, rtol=0, atol=1e-14)


def test_levels_taken_one_by_one_give_the_whole(make_network: MakeNetwork, batch: Any) -> None:
    network, lengths = make_network(), batch[1:]
    expected = network.attend(*batch)
    states = network.encode_words(*batch[:2])
    sentences, word_weights = network.pool_words(states, *lengths)
    level = network.read_sentences(sentences, batch.sentences_per_document)
    assert (states.shape, sentences.shape, level.states.shape) == ((29, 10), (11, 10), (11, 14))
    assert torch.equal(level.logits, expected.logits)
    assert torch.equal(level.vectors, expected.vectors)
    assert torch.equal(word_weights.squeeze(1), expected.word_attention)
    assert torch.equal(level.weights.squeeze(1), expected.sentence_attention)


def test_options_are_copied(batch: Any) -> None:
    pooling = Attention(size=19)
    network = HierarchicalAttentionNetwork(17, 2, pooling=pooling)
    pooling.size = 23
    assert network.options.pooling == Attention(size=19)


def test_options_that_are_not_allowed_are_refused(make_network: MakeNetwork) -> None:
    with pytest.raises(
        ValueError, match=r"'size' parameter of Attention .* at least 1. Got 0 inst"
    ):
        make_network(pooling=Attention(size=0))
    with pytest.raises(ValueError, match=r"max_words must be at least 1; got 0"):
        make_network(max_words=0)


def test_word_weights_of_each_sentence_sum_to_one(make_network: MakeNetwork, batch: Any) -> None:
    weights = make_network().attend(*batch).word_attention
    assert weights.shape == (29,)
    sums = torch.stack([w.sum() for w in weights.split(batch.words_per_sentence.tolist())])
    assert_close(sums, torch.ones(11).double(), rtol=0, atol=1e-12)


def test_sentence_weights_of_each_document_sum_to_one(
    make_network: MakeNetwork, batch: Any
) -> None:
    weights = make_network().attend(*batch).sentence_attention
    assert weights.shape == (11,)
    sums = torch.stack([w.sum() for w in weights.split(batch.sentences_per_document.tolist())])
    assert_close(sums, torch.tensor([1, 0, 1, 1, 1]).double(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_document_alone_equals_the_document_in_a_batch(
    make_network: MakeNetwork, batch: Any, dtype: torch.dtype
) -> None:
    network = make_network(dtype)
    alone = [network.attend(*document(batch, i)) for i in range(5)]
    together = [torch.cat(parts) for parts in zip(*alone, strict=True)]
    assert_close(list(network.attend(*batch)), together, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_order_of_documents_does_not_matter(
    make_network: MakeNetwork, batch: Any, dtype: torch.dtype
) -> None:
    network, order = make_network(dtype), [3, 1, 4, 0, 2]
    shuffled = network(*joined([document(batch, i) for i in order]))
    assert_close(shuffled, network(*batch)[order], rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neighbours_do_not_matter(
    make_network: MakeNetwork, batch: Any, dtype: torch.dtype
) -> None:
    network, long, other = make_network(dtype), document(batch, 2), document(batch, 4)
    with_long = network(*joined([other, long]))[0]
    with_itself = network(*joined([other, other, other]))[1]
    assert_close(with_long, with_itself, rtol=0, atol=TOLERANCE[dtype])


def test_empty_document_has_the_logits_of_the_zero_vector(
    make_network: MakeNetwork, batch: Any
) -> None:
    network = make_network()
    assert torch.equal(network(*batch)[1], network.output.bias)


def test_only_empty_documents_have_logits_no_weights_and_gradients(
    make_network: MakeNetwork, batch: Any
) -> None:
    network = make_network()
    output = network.attend(*joined([document(batch, 1)] * 3))
    assert torch.equal(output.logits, network.output.bias.expand(3, 2))
    assert len(output.word_attention) == len(output.sentence_attention) == 0
    output.logits.sum().backward()
    assert network.output.bias.grad.tolist() == [3, 3]
    others = [p.grad for p in network.parameters() if p is not network.output.bias]
    assert all(gradient is None or gradient.eq(0).all() for gradient in others)


def test_no_documents_have_no_logits(make_network: MakeNetwork) -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    assert make_network()(nothing, nothing, nothing).shape == (0, 2)


@pytest.mark.parametrize("max_words", [1, 5, 13, 28, 29])
def test_parts_change_neither_results_nor_gradients(
    make_network: MakeNetwork, batch: Any, max_words: int
) -> None:
    # The longest sentence has 13 words: with less it is a part of its own.
    whole, in_chunks = make_network(), make_network(max_words=max_words)
    expected, found = whole.attend(*batch), in_chunks.attend(*batch)
    assert_close(found, expected, rtol=0, atol=1e-12)
    assert_close(gradients(in_chunks, found), gradients(whole, expected), rtol=0, atol=1e-12)


def test_parts_predict_without_gradients(make_network: MakeNetwork, batch: Any) -> None:
    with torch.inference_mode():
        found = make_network(max_words=5)(*batch)
    assert_close(found.clone(), make_network()(*batch).detach(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("max_words", "words_of_parts"),
    [
        (1, [3, 1, 13, 2, 1, 2, 1, 1, 2, 1, 2]),
        (5, [3 + 1, 13, 2 + 1 + 2, 1 + 1 + 2 + 1, 2]),
        (13, [3 + 1, 13, 2 + 1 + 2 + 1 + 1 + 2 + 1 + 2]),
        (29, [29]),
    ],
)
def test_parts_hold_as_many_sentences_as_fit(
    make_network: MakeNetwork, batch: Any, max_words: int, words_of_parts: list[int]
) -> None:
    network, found = make_network(max_words=max_words), []
    network.word_encoder.register_forward_hook(lambda *call: found.append(len(call[-1])))
    network(*batch)
    assert found == words_of_parts


def test_sparse_gradient_equals_the_dense_one(make_network: MakeNetwork, batch: Any) -> None:
    dense, sparse = make_network(), make_network(sparse=True)
    for network in (dense, sparse):
        network(*batch).sum().backward()
    found = sparse.embedding.weight.grad
    assert found.is_sparse
    assert_close(found.to_dense(), dense.embedding.weight.grad, rtol=0, atol=1e-12)


def test_sparse_gradient_holds_only_the_words_that_occurred(
    make_network: MakeNetwork, batch: Any
) -> None:
    network = make_network(sparse=True)
    network(*batch).sum().backward()
    rows = network.embedding.weight.grad.coalesce().indices()[0]
    assert rows.tolist() == sorted(set(batch.word_ids.tolist()))


def test_frozen_word_vectors_get_no_gradient(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network()
    network.embedding.weight.requires_grad_(False)
    network(*batch).sum().backward()
    assert network.embedding.weight.grad is None
    assert all(p.grad is not None for p in network.parameters() if p.requires_grad)


def test_same_seed_gives_the_same_bits_in_training(batch: Any) -> None:
    def trained() -> tuple[Tensor, Tensor]:
        network = HierarchicalAttentionNetwork(
            17, 2, embedding_dropout=0.3, generator=torch.Generator().manual_seed(7)
        )
        logits = network(*batch)
        logits.square().sum().backward()
        return logits, network.embedding.weight.grad

    assert all(map(torch.equal, trained(), trained()))


def test_another_seed_gives_other_weights(batch: Any) -> None:
    first, second = (
        HierarchicalAttentionNetwork(17, 2, generator=torch.Generator().manual_seed(seed)).eval()
        for seed in (7, 8)
    )
    assert not torch.equal(first(*batch), second(*batch))


def test_global_random_state_is_left_alone(batch: Any) -> None:
    before = torch.get_rng_state()
    network = HierarchicalAttentionNetwork(
        17, 2, embedding_dropout=0.3, max_words=5, generator=torch.Generator()
    )
    network(*batch).sum().backward()
    assert torch.equal(torch.get_rng_state(), before)


def test_evaluation_draws_nothing(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network(dropout=0.5, word_dropout=0.5).eval()
    assert torch.equal(network(*batch), make_network()(*batch))


@pytest.mark.parametrize("level", ["sentence_encoder", "output"])
def test_training_drops_entries_of_sentence_and_document_vectors(
    make_network: MakeNetwork, batch: Any, level: str
) -> None:
    network, found = make_network(dropout=0.5, generator=torch.Generator()), []
    network.get_submodule(level).register_forward_pre_hook(lambda _, args: found.append(args[0]))
    network(*joined([document(batch, i) for i in (0, 2, 3, 4)]))  # the empty one is zero anyway
    network.eval()(*joined([document(batch, i) for i in (0, 2, 3, 4)]))
    in_training, in_evaluation = found
    assert 0.3 < in_training.eq(0).double().mean() < 0.7
    assert in_evaluation.ne(0).all()


def test_training_without_known_words_reads_unknown_ones(
    make_network: MakeNetwork, batch: Any
) -> None:
    network = make_network(unknown_id=3, generator=torch.Generator())
    network.options.word_dropout = 1.0
    unknown = batch._replace(word_ids=torch.full((29,), 3))
    assert torch.equal(network(*batch), make_network()(*unknown))


def test_parts_are_dropped_out_as_the_whole(make_network: MakeNetwork, batch: Any) -> None:
    def logits_and_gradients(max_words: int) -> list[Any]:
        generator = torch.Generator().manual_seed(7)
        network = make_network(
            dropout=0.5, word_dropout=0.5, max_words=max_words, generator=generator
        )
        output = network.attend(*batch)
        return [output.logits, gradients(network, output)]

    assert_close(logits_and_gradients(5), logits_and_gradients(29), rtol=0, atol=1e-12)


def test_arithmetic_is_that_of_the_first_release(make_network: MakeNetwork, batch: Any) -> None:
    # Whoever changes these numbers changes what saved models say.
    stored = [
        [0.822783, 1.061750],
        [0.420735, 0.454649],
        [0.423511, 0.918258],
        [0.795918, 0.951836],
        [0.840060, 1.261737],
    ]
    logits = make_network(torch.float32)(*batch)
    assert_close(logits, torch.tensor(stored), rtol=0, atol=1e-5)


def test_single_precision_scores_like_one_sentence_at_a_time(
    make_network: MakeNetwork, batch: Any, engine: str
) -> None:
    expected = one_at_a_time(make_network(), batch)
    network = make_network(torch.float32)
    assert network.has_kernels == (engine == "numba")
    found = [each.double() for each in network.attend(*batch)]
    assert_close(found, list(expected), rtol=0, atol=2e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_numbers_of_the_cpu(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network()
    expected = network.attend(*batch)
    expected_gradients = gradients(network, expected)
    on_gpu = network.to("cuda")
    found = on_gpu.attend(batch.word_ids.to("cuda"), *batch[1:])
    assert_close(tuple(t.cpu() for t in found), tuple(expected), rtol=0, atol=1e-10)
    loss = sum((torch.sin(torch.arange(t.numel())).view_as(t).to("cuda") * t).sum() for t in found)
    for gradient, name in zip(
        torch.autograd.grad(loss, list(on_gpu.parameters())), expected_gradients, strict=True
    ):
        assert_close(gradient.cpu(), expected_gradients[name], rtol=0, atol=1e-10)


def test_weights_survive_a_state_dict(make_network: MakeNetwork, batch: Any) -> None:
    network = make_network(torch.float32)
    fresh = HierarchicalAttentionNetwork(
        17, 2, embedding_dim=3, word_hidden=5, sentence_hidden=7, pooling=Attention(size=19)
    )
    fresh.load_state_dict(network.state_dict())
    assert torch.equal(fresh.eval()(*batch), network(*batch))


@pytest.mark.thorough
def test_network_needs_no_scikit_learn() -> None:
    code = (
        "import sys; sys.modules.update(sklearn=None, skorch=None); "
        "import torch; from sk_han.nn import HierarchicalAttentionNetwork as Network; "
        "logits = Network(5, 2)(torch.tensor([2, 3]), torch.tensor([2]), torch.tensor([1])); "
        "assert logits.shape == (1, 2)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestWhereTrainingStarts:
    """Words must move the gates, or the encoders begin as linear functions."""

    @staticmethod
    def arguments_of_gates(network: HierarchicalAttentionNetwork) -> Tensor:
        weight = network.word_encoder.state_dict()
        return network.embedding.weight @ weight["gru.weight_ih_l0"].T

    @pytest.mark.parametrize(("E", "hidden"), [(200, 50), (100, 50), (200, 100)])
    def test_words_change_the_arguments_of_gates_by_about_one(self, E: int, hidden: int) -> None:
        network = HierarchicalAttentionNetwork(503, 2, embedding_dim=E, word_hidden=hidden)
        assert 0.4 < self.arguments_of_gates(network).std().item() < 1.2

    @pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
    def test_every_cell_starts_from_larger_input_weights_than_pytorchs(self, cell: str) -> None:
        network = HierarchicalAttentionNetwork(11, 2, rnn=cell)
        for encoder, gain in [(network.word_encoder, 7), (network.sentence_encoder, 3)]:
            for name, weight in encoder.named_parameters():
                if "bias" in name:
                    continue
                factor = gain if "weight_ih" in name else 1
                assert weight.abs().max().item() == pytest.approx(factor * 50**-0.5, rel=0.05)

    def test_long_vectors_move_the_gates_no_more_than_the_usual_ones(self) -> None:
        vectors = torch.randn(503, 13)
        found = []
        for size in (0.01, 0.1, 1.0, 30.0):
            network = HierarchicalAttentionNetwork(
                503, 2, embedding_dim=13, generator=torch.Generator().manual_seed(0)
            )
            network.start_from(size * vectors)
            assert torch.equal(network.embedding.weight, size * vectors)
            found.append(self.arguments_of_gates(network).std().item())
        assert found[1:] == pytest.approx([found[1]] * 3, rel=0.02)
        assert found[0] == pytest.approx(found[1] / 10, rel=0.02)

    def test_vectors_of_zeros_or_without_an_end_do_not_change_the_weights(self) -> None:
        for vectors in (torch.zeros(11, 5), torch.full((11, 5), float("inf"))):
            network = HierarchicalAttentionNetwork(11, 2, embedding_dim=5)
            before = network.word_encoder.state_dict()["gru.weight_ih_l0"].clone()
            network.start_from(vectors)
            assert torch.equal(network.word_encoder.state_dict()["gru.weight_ih_l0"], before)
