"""The whole network against a reference that reads one sentence at a time."""

import pytest
import torch
from torch.testing import assert_close

from sk_han.nn import HANOutput, HierarchicalAttentionNetwork

pytestmark = pytest.mark.usefixtures("engine")

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}


def one_at_a_time(network, batch):
    """Yang et al. (2016), equations 1 to 11, sentence by sentence in plain PyTorch."""

    def attend(states, attention):
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


def gradients(network, output):
    """Gradients of a loss to which logits and both attentions contribute."""
    loss = sum((torch.sin(torch.arange(t.numel())).view_as(t) * t).sum() for t in output)
    found = torch.autograd.grad(loss, list(network.parameters()))
    return dict(zip(dict(network.named_parameters()), found, strict=True))


def test_output_equals_one_sentence_at_a_time(make_network, batch):
    network = make_network()
    assert_close(network.attend(*batch), one_at_a_time(network, batch), rtol=0, atol=1e-12)


def test_gradients_equal_one_sentence_at_a_time(make_network, batch):
    network = make_network()
    found = gradients(network, network.attend(*batch))
    expected = gradients(network, one_at_a_time(network, batch))
    assert all(gradient.ne(0).any() for gradient in found.values())
    assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("max_words", "words_of_parts"),
    [
        (1, [3, 1, 13, 2, 1, 2, 1, 1, 2, 1, 2]),
        (5, [3 + 1, 13, 2 + 1 + 2, 1 + 1 + 2 + 1, 2]),
        (13, [3 + 1, 13, 2 + 1 + 2 + 1 + 1 + 2 + 1 + 2]),
        (29, [29]),
    ],
)
def test_chunks_hold_as_many_sentences_as_fit(make_network, batch, max_words, words_of_parts):
    network, found = make_network(max_words=max_words), []
    network.word_encoder.register_forward_hook(lambda *call: found.append(len(call[-1])))
    logits = network(*batch)
    assert found == words_of_parts
    logits.sum().backward()  # each part is encoded again, and none is kept
    assert sorted(found) == sorted(2 * words_of_parts if max_words < 29 else words_of_parts)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"word_ids": torch.full((29,), -1)}, IndexError, "at least 0; got -1"),
        ({"words_per_sentence": torch.full((11,), 2)}, ValueError, "add up to 29 tokens"),
        ({"words_per_sentence": torch.tensor([30, -1])}, ValueError, "add up to 29 tokens"),
    ],
)
def test_an_inconsistent_batch_is_refused(make_network, batch, changes, error, message):
    for max_words in (5, 29):
        with pytest.raises(error, match=message):
            make_network(max_words=max_words)(*batch._replace(**changes))
    with pytest.raises(ValueError, match=r"max_words must be at least 1; got 0"):
        make_network(max_words=0)


def test_the_sparse_gradient_equals_the_dense_one(make_network, batch):
    dense, sparse = make_network(), make_network(sparse=True)
    for network in (dense, sparse):
        network(*batch).sum().backward()
    found = sparse.embedding.weight.grad.coalesce()
    assert found.indices()[0].tolist() == sorted(set(batch.word_ids.tolist()))
    assert_close(found.to_dense(), dense.embedding.weight.grad, rtol=0, atol=1e-12)


def test_evaluation_uses_no_random_numbers(make_network, batch):
    network = make_network(dropout=0.5, word_dropout=0.5).eval()
    assert torch.equal(network(*batch), make_network()(*batch))


@pytest.mark.parametrize("level", ["sentence_encoder", "output"])
def test_training_drops_entries_of_sentence_and_document_vectors(make_network, batch, level):
    network, found = make_network(dropout=0.5, generator=torch.Generator()), []
    network.get_submodule(level).register_forward_pre_hook(lambda _, args: found.append(args[0]))
    filled = batch.part([0, 2, 3, 4])
    network(*filled)
    network.eval()(*filled)
    in_training, in_evaluation = found
    assert 0.3 < in_training.eq(0).double().mean() < 0.7
    assert in_evaluation.ne(0).all()


def test_word_dropout_of_1_makes_every_word_unknown(make_network, batch):
    network = make_network(unknown_id=3, generator=torch.Generator())
    network.options.word_dropout = 1.0
    unknown = batch._replace(word_ids=torch.full((29,), 3))
    assert torch.equal(network(*batch), make_network()(*unknown))


def test_dropout_does_not_depend_on_max_words(make_network, batch):
    def logits_and_gradients(max_words):
        generator = torch.Generator().manual_seed(7)
        network = make_network(
            dropout=0.5,
            word_dropout=0.5,
            embedding_dropout=0.5,
            max_words=max_words,
            generator=generator,
        )
        output = network.attend(*batch)
        return [output.logits, gradients(network, output)]

    assert_close(logits_and_gradients(5), logits_and_gradients(29), rtol=0, atol=1e-12)


def test_results_equal_those_of_the_first_release(make_network, batch):
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


def test_single_precision_scores_like_one_sentence_at_a_time(make_network, batch, engine):
    expected = one_at_a_time(make_network(), batch)
    network = make_network(torch.float32)
    assert network.has_kernels == (engine == "numba")
    found = [each.double() for each in network.attend(*batch)]
    assert_close(found, list(expected), rtol=0, atol=2e-6)


class TestWhereTrainingStarts:
    """Words must move the gates, or the encoders begin as linear functions."""

    @staticmethod
    def arguments_of_gates(network):
        weight = network.word_encoder.state_dict()
        return network.embedding.weight @ weight["gru.weight_ih_l0"].T

    @pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
    def test_every_cell_starts_from_larger_input_weights_than_pytorchs(self, cell):
        network = HierarchicalAttentionNetwork(11, 2, rnn=cell)
        for encoder, gain in [(network.word_encoder, 7), (network.sentence_encoder, 3)]:
            for name, weight in encoder.named_parameters():
                if "bias" in name:
                    continue
                factor = gain if "weight_ih" in name else 1
                assert weight.abs().max().item() == pytest.approx(factor * 50**-0.5, rel=0.05)

    def test_long_initial_vectors_do_not_saturate_the_gates(self):
        vectors = torch.randn(503, 13, generator=torch.Generator().manual_seed(0))
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

    def test_zero_or_infinite_vectors_do_not_change_the_weights(self):
        for vectors in (torch.zeros(11, 5), torch.full((11, 5), float("inf"))):
            network = HierarchicalAttentionNetwork(11, 2, embedding_dim=5)
            before = network.word_encoder.state_dict()["gru.weight_ih_l0"].clone()
            network.start_from(vectors)
            assert torch.equal(network.word_encoder.state_dict()["gru.weight_ih_l0"], before)
