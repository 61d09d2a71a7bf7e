"""The sentence level alone, over vectors of sentences."""

import pytest
import torch

from sk_han import Attention, MultiHopAttention
from sk_han.sentence_vectors import SentenceNetwork

# Documents of 3, 0 and 2 sentences; 5 numbers, 7 classes.
WORDS, SENTENCES = torch.tensor([2, 1, 4, 3, 2]), torch.tensor([3, 0, 2])
VECTORS = torch.randn(5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def network(recurrent=True, **options):
    options = {"sentence_hidden": 3, "pooling": Attention(size=11)} | options
    generator = torch.Generator().manual_seed(1)
    made = SentenceNetwork(5, 7, recurrent=recurrent, generator=generator, **options)
    made.start_from(torch.full((5,), 0.5), torch.full((5,), 2.0))
    return made.double().eval()


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_document_depends_on_itself_alone(recurrent):
    made = network(recurrent)
    whole = made(VECTORS, WORDS, SENTENCES)
    assert torch.equal(whole[1], made.output.bias)  # of the empty one
    alone = made(VECTORS[3:], WORDS[3:], SENTENCES[2:])
    assert torch.allclose(whole[2:], alone, atol=1e-12)


def test_attention_is_that_of_sentences_and_equal_among_words():
    found = network().attend(VECTORS, WORDS, SENTENCES)
    assert torch.allclose(found.sentence_attention[:3].sum(), torch.tensor(1.0).double())
    assert torch.allclose(found.sentence_attention[3:].sum(), torch.tensor(1.0).double())
    expected = torch.cat([torch.full((n,), 1 / n) for n in WORDS.tolist()]).double()
    assert torch.allclose(found.word_attention, expected, atol=1e-7)


@pytest.mark.parametrize("recurrent", [False, True])
def test_it_begins_linear_in_the_mean_sentence(recurrent):
    made = network(recurrent)
    generator = torch.Generator().manual_seed(0)
    weight, bias = (torch.randn(shape, generator=generator) for shape in [(7, 5), (7,)])
    made.start_mean_from(weight, bias)
    mean = (2 * (VECTORS[:3] - 0.5)).mean(0)
    expected = mean @ weight.double().T + bias.double()
    assert torch.allclose(made(VECTORS, WORDS, SENTENCES)[0], expected, atol=1e-6)


def test_only_the_recurrent_network_reads_the_order():
    turned = VECTORS[[2, 1, 0, 4, 3]]
    for recurrent in (False, True):
        made = network(recurrent)
        same = torch.allclose(made(VECTORS, WORDS, SENTENCES), made(turned, WORDS, SENTENCES))
        assert same != recurrent


def test_the_gradient_is_that_of_finite_differences():
    made = network()
    generator = torch.Generator().manual_seed(0)
    factors = torch.randn(3, 7, dtype=torch.float64, generator=generator)

    def score(vectors):
        return (factors * made(vectors, WORDS, SENTENCES)).sum()

    found = made.gradient_attention(VECTORS, WORDS, SENTENCES, lambda logits: factors)
    for sentence in range(5):
        # A step along the scaled vector itself, whose length is that of the contribution.
        step = torch.zeros_like(VECTORS)
        step[sentence] = 1e-6 * (VECTORS[sentence] - 0.5)
        slope = (score(VECTORS + step) - score(VECTORS - step)) / 2e-6
        start = int(WORDS[:sentence].sum())
        words = found.words[start : start + int(WORDS[sentence])]
        assert torch.allclose(words.sum(), slope, atol=1e-6)
        assert torch.allclose(words, words[0].expand_as(words), atol=1e-7)


def test_hops_have_their_penalty():
    hops = MultiHopAttention(size=11, hops=2, penalty=0.5)
    penalty = network(pooling=hops).attend(VECTORS, WORDS, SENTENCES).penalty
    assert penalty.shape == (3,)
    assert penalty[0] > 0
    assert not network().attend(VECTORS, WORDS, SENTENCES).penalty.any()
