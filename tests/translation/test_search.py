"""Beam search against all hypotheses there are, and against one word after the other."""

from __future__ import annotations

import itertools

import pytest
import torch

from sk_han.translation import AttentionSeq2Seq
from sk_han.translation._fit import beam_search
from sk_han.translation._network import END_ID

SOURCES = torch.tensor([2, 3, END_ID, END_ID, 5, 6, 7, 4, END_ID])
LENGTHS = torch.tensor([3, 1, 5])


@pytest.fixture
def network():
    """Large weights, so that what was said before matters."""
    generator = torch.Generator().manual_seed(2)
    sizes = {"embedding_dim": 5, "hidden_size": 3, "attention_size": 2}
    network = AttentionSeq2Seq(source_size=11, target_size=4, generator=generator, **sizes).double()
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(generator=generator)
        network.output_bias[END_ID] -= 1
    return network.eval()


def search(network, beam_size=2, penalty=0.7, most=(3, 3, 3), pairs=slice(3)):
    sources, limits = torch.cat(SOURCES.split(LENGTHS.tolist())[pairs]), torch.tensor(most)
    params = {"beam_size": beam_size, "length_penalty": penalty, "max_words": limits[pairs]}
    return beam_search(network, sources, LENGTHS[pairs], **params)


def score_of(network, pair, words, penalty):
    source = SOURCES.split(LENGTHS.tolist())[pair]
    before = torch.tensor([END_ID, *words])
    logits = network(source, LENGTHS[pair : pair + 1], before, torch.tensor([len(before)]))
    logs = torch.log_softmax(logits, dim=1)[range(len(before)), [*words, END_ID]]
    return logs.sum().item() / len(before) ** penalty


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
def test_a_wide_beam_finds_the_best_of_all_hypotheses(network, penalty):
    # Up to three words.
    everything = [words for n in range(4) for words in itertools.product([1, 2, 3], repeat=n)]
    remembered = set()
    for pair, found in enumerate(search(network, beam_size=len(everything), penalty=penalty)):
        scores = {words: score_of(network, pair, words, penalty) for words in everything}
        best = max(scores, key=scores.__getitem__)
        assert tuple(found.word_ids.tolist()) == best
        remembered.add(len(set(best)))
        assert found.score == pytest.approx(scores[best])
    if penalty:  # only a hypothesis of several words shows what is remembered
        assert max(remembered) > 1


def test_a_beam_of_one_is_greedy(network):
    for pair, found in enumerate(search(network, beam_size=1, most=(6, 6, 6))):
        words: list[int] = []
        source = SOURCES.split(LENGTHS.tolist())[pair]
        while len(words) < 6:
            before = torch.tensor([END_ID, *words])
            logits = network(source, LENGTHS[pair : pair + 1], before, torch.tensor([len(before)]))
            word = int(logits[-1].argmax())
            if word == END_ID:
                break
            words.append(word)
        assert found.word_ids.tolist() == words


def test_a_result_does_not_depend_on_the_batch(network):
    for pair, expected in enumerate(search(network)):
        (alone,) = search(network, pairs=slice(pair, pair + 1))
        assert torch.equal(alone.word_ids, expected.word_ids)
        torch.testing.assert_close(alone.attention, expected.attention)


def test_each_source_has_its_own_length_limit_and_attention(network):
    with torch.no_grad():
        network.output_bias[END_ID] -= 100  # never of its own will
    most = (2, 0, 5)
    for found, n, length in zip(search(network, most=most), most, LENGTHS.tolist(), strict=True):
        assert found.word_ids.shape == (n,)
        assert found.attention.shape == (n, length)
        torch.testing.assert_close(found.attention.sum(1), torch.ones(n, dtype=torch.float64))
