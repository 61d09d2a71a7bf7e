"""Beam search against all hypotheses there are, and against one word after the other."""

from __future__ import annotations

import itertools

import pytest
import torch

from sk_han.translation import AttentionSeq2Seq
from sk_han.translation.network import END_ID
from sk_han.translation.search import Hypothesis, beam_search

SOURCES = torch.tensor([2, 3, END_ID, END_ID, 5, 6, 7, 4, END_ID])
LENGTHS = torch.tensor([3, 1, 5])


@pytest.fixture
def network() -> AttentionSeq2Seq:
    """Large weights, so that what was said before matters."""
    generator = torch.Generator().manual_seed(2)
    sizes = {"embedding_dim": 5, "hidden_size": 3, "attention_size": 2}
    network = AttentionSeq2Seq(source_size=11, target_size=4, generator=generator, **sizes).double()
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(generator=generator)
        network.output_bias[END_ID] -= 1
    return network.eval()


def search(
    network: AttentionSeq2Seq, beam_size: int, penalty: float = 0.7, most: int = 3
) -> list[Hypothesis]:
    return beam_search(
        network,
        SOURCES,
        LENGTHS,
        beam_size=beam_size,
        length_penalty=penalty,
        max_words=torch.full((3,), most),
    )


def score_of(network: AttentionSeq2Seq, pair: int, words: tuple[int, ...], penalty: float) -> float:
    source = SOURCES.split(LENGTHS.tolist())[pair]
    before = torch.tensor([END_ID, *words])
    logits = network(source, LENGTHS[pair : pair + 1], before, torch.tensor([len(before)]))
    logs = torch.log_softmax(logits, dim=1)[range(len(before)), [*words, END_ID]]
    return logs.sum().item() / len(before) ** penalty


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
def test_a_wide_beam_finds_the_best_of_all_hypotheses(
    network: AttentionSeq2Seq, penalty: float
) -> None:
    everything = [
        words for n in range(4) for words in itertools.product([1, 2, 3], repeat=n)
    ]  # up to three words
    remembered = set()
    for pair, found in enumerate(search(network, beam_size=len(everything), penalty=penalty)):
        scores = {words: score_of(network, pair, words, penalty) for words in everything}
        best = max(scores, key=scores.__getitem__)
        assert tuple(found.word_ids.tolist()) == best
        remembered.add(len(set(best)))
        assert found.score == pytest.approx(scores[best])
    if penalty:  # only a hypothesis of several words shows what is remembered
        assert max(remembered) > 1


def test_a_beam_of_one_takes_the_most_probable_word_each_time(network: AttentionSeq2Seq) -> None:
    for pair, found in enumerate(search(network, beam_size=1, most=6)):
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


def test_a_result_does_not_depend_on_the_batch(network: AttentionSeq2Seq) -> None:
    together = search(network, beam_size=2)
    for pair, source in enumerate(SOURCES.split(LENGTHS.tolist())):
        alone = beam_search(
            network,
            source,
            LENGTHS[pair : pair + 1],
            beam_size=2,
            length_penalty=0.7,
            max_words=torch.tensor([3]),
        )[0]
        assert torch.equal(alone.word_ids, together[pair].word_ids)
        torch.testing.assert_close(alone.attention, together[pair].attention)


def test_attention_has_a_row_for_each_word_and_sums_to_one(network: AttentionSeq2Seq) -> None:
    with torch.no_grad():
        network.output_bias[END_ID] -= 100  # never of its own will
    for found, length in zip(search(network, beam_size=2), LENGTHS.tolist(), strict=True):
        assert found.attention.shape == (3, length)
        torch.testing.assert_close(found.attention.sum(1), torch.ones(3, dtype=torch.float64))


def test_each_source_has_its_own_limit(network: AttentionSeq2Seq) -> None:
    with torch.no_grad():
        network.output_bias[END_ID] -= 100
    most = torch.tensor([2, 0, 5])
    found = beam_search(network, SOURCES, LENGTHS, beam_size=2, length_penalty=1.0, max_words=most)
    assert [len(each.word_ids) for each in found] == most.tolist()
