"""The translation network: attention over real words alone, and a decoder that knows the past."""

import pytest
import torch

from sk_han.translation import AttentionSeq2Seq

SOURCES = [[2, 3], [], [5, 6, 7, 4]]  # without end marks
TARGETS = [[4], [3, 4, 1, 2], []]
END_ID = 0  # of a text
SIZES = {"embedding_dim": 5, "hidden_size": 3, "attention_size": 2}


@pytest.fixture
def network(fill):
    network = AttentionSeq2Seq(source_size=11, target_size=7, dropout=0.0, **SIZES).double()
    fill(network)
    return network


def batch_of(sources, targets):
    return (
        torch.tensor([i for source in sources for i in [*source, END_ID]]),
        torch.tensor([len(source) + 1 for source in sources]),
        torch.tensor([i for target in targets for i in [END_ID, *target]]),
        torch.tensor([len(target) + 1 for target in targets]),
    )


def one_word_at_a_time(network):
    """Logits of each pair alone, by `step`."""
    logits = []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        ids, lengths, before, _ = batch_of([source], [target])
        memory, state = network.encode(ids, lengths)
        for word in before:
            state, _ = network.step(memory, state, network.target_embedding(word.view(1)))
            logits.append(network.logits(state.attentional))
    return torch.cat(logits)


def gradients_of(network, logits):
    probe = torch.cos(torch.arange(logits.numel(), dtype=torch.float64)).view_as(logits)
    return torch.autograd.grad((probe * logits).sum(), list(network.parameters()))


def test_logits_of_a_batch_equal_step_by_step_decoding(network):
    logits = network(*batch_of(SOURCES, TARGETS))
    assert logits.shape == (8, 7)
    torch.testing.assert_close(logits, one_word_at_a_time(network))


def test_a_decoder_starts_from_the_last_state_of_each_direction(network):
    ids, lengths, *_ = batch_of(SOURCES, TARGETS)
    _, state = network.encode(ids, lengths)
    for source, hidden in zip(ids.split(lengths.tolist()), state.hidden, strict=True):
        _, last = network.encoder.gru(network.embedding(source))  # (2, Q)
        torch.testing.assert_close(hidden, torch.tanh(network.start(last.flatten())))


def test_gradients_of_a_batch_equal_step_by_step_decoding(network):
    found = gradients_of(network, network(*batch_of(SOURCES, TARGETS)))
    expected = gradients_of(network, one_word_at_a_time(network))
    for (name, _), one, other in zip(network.named_parameters(), found, expected, strict=True):
        assert one.abs().sum() > 0, name
        torch.testing.assert_close(one, other, msg=lambda m, name=name: f"{name}: {m}")


def test_a_padded_source_equals_a_shorter_one(network):
    both = network.encode(*batch_of(SOURCES, TARGETS)[:2])
    alone = network.encode(*batch_of(SOURCES[:1], TARGETS[:1])[:2])
    first, word = torch.tensor([0]), network.target_embedding(torch.tensor([3]))
    state, weights = network.step(both[0].select(first), both[1].select(first), word)
    expected, expected_weights = network.step(*alone, word)
    assert torch.equal(weights[:, 3:], torch.zeros(1, 2, dtype=torch.float64))
    torch.testing.assert_close(weights[:, :3], expected_weights)
    torch.testing.assert_close(state.attentional, expected.attentional)


def test_padding_after_a_source_changes_nothing(network):
    word = network.target_embedding(torch.tensor([3, 3, 3]))
    memory, state = network.encode(*batch_of(SOURCES, TARGETS)[:2])
    clean, _ = network.step(memory, state, word)
    memory.states[0, 3:] = memory.keys[0, 3:] = 100.0
    spoilt, _ = network.step(memory, state, word)
    assert torch.equal(spoilt.attentional, clean.attentional)


def test_a_target_word_does_not_depend_on_later_words(network):
    logits = network(*batch_of(SOURCES, TARGETS))[2:7]
    other = network(*batch_of(SOURCES, [[4], [3, 4, 5, 5], []]))[2:7]
    assert torch.equal(logits[:3], other[:3])
    assert not torch.equal(logits[3:], other[3:])
