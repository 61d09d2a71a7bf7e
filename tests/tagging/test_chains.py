"""Chains of tags against brute force, and what a tagger reads of words."""

import itertools
import math

import numpy as np
import pytest
import torch

from sk_han.tagging._fit import encode_sentences, token_kinds, word_shape
from sk_han.tagging._network import (
    best_paths,
    log_partition,
    marginals,
    path_scores,
)
from sk_han.tagging._tags import as_sentences
from tests.tiny_sentences import X, Y, tiny_tagger

# Distinct primes for tokens of the longest sentence, labels, sentences.
CHAINS = torch.tensor([2, 0, 5, 1, 3])
N_LABELS = 3


@pytest.fixture
def chain():
    """Scores of five sentences, first labels and transitions, in double precision."""
    generator = torch.Generator().manual_seed(0)
    draw = [
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((int(CHAINS.sum()), N_LABELS), (N_LABELS,), (N_LABELS, N_LABELS))
    ]
    return draw[0], draw[1], draw[2]


def every_path(emissions, first, transitions):
    """The score of each path through one sentence, one addition after the other."""
    scores = {}
    for path in itertools.product(range(emissions.shape[1]), repeat=len(emissions)):
        score = first[path[0]].item() if path else 0.0
        score += sum(emissions[t, label].item() for t, label in enumerate(path))
        score += sum(transitions[a, b].item() for a, b in itertools.pairwise(path))
        scores[path] = score
    return scores


def split(rows):
    return list(rows.split(CHAINS.tolist()))


def test_two_tokens_worked_by_hand():
    # Paths and factors exp(score): aa 2 * 3 * 5 = 30, ab 2 * 1 * 1 = 2, ba 1 * 1 * 5 = 5,
    # bb 1 * 7 * 1 = 7; together 44.
    emissions = torch.tensor([[2.0, 1.0], [5.0, 1.0]], dtype=torch.float64).log()
    first = torch.zeros(2, dtype=torch.float64)
    transitions = torch.tensor([[3.0, 1.0], [1.0, 7.0]], dtype=torch.float64).log()
    lengths = torch.tensor([2])
    found = log_partition(emissions, first, transitions, lengths)
    assert found.item() == pytest.approx(math.log(44))
    of_labels = marginals(emissions, first, transitions, lengths)
    np.testing.assert_allclose(of_labels, [[32 / 44, 12 / 44], [35 / 44, 9 / 44]])
    assert best_paths(emissions, first, transitions, lengths).tolist() == [0, 0]
    labels = torch.tensor([0, 1])
    score = path_scores(emissions, labels, first, transitions, lengths)
    assert score.item() == pytest.approx(math.log(2))


def test_sums_marginals_and_best_paths_match_brute_force(chain):
    emissions, first, transitions = chain
    labels = torch.arange(len(emissions)) % N_LABELS
    totals = log_partition(*chain, CHAINS)
    scores = path_scores(emissions, labels, first, transitions, CHAINS)
    given, best, shares = map(
        split, (labels, best_paths(*chain, CHAINS), marginals(*chain, CHAINS))
    )
    for i, rows in enumerate(split(emissions)):
        paths = every_path(rows, first, transitions)
        assert totals[i].item() == pytest.approx(np.logaddexp.reduce(list(paths.values())))
        assert scores[i].item() == pytest.approx(paths[tuple(given[i].tolist())])
        assert tuple(best[i].tolist()) == max(paths, key=paths.__getitem__)
        expected = np.zeros(rows.shape)
        for path, score in paths.items():
            expected[np.arange(len(path)), list(path)] += np.exp(score)
        np.testing.assert_allclose(shares[i], expected / expected.sum(1, keepdims=True))


@pytest.mark.parametrize("shift", [0, 90])  # beyond the scores of products of matrices
def test_gradients_match_finite_differences(chain, shift):
    chain[2][1] += shift
    inputs = [each.requires_grad_() for each in chain]
    labels = torch.arange(len(chain[0])) % N_LABELS

    def likelihoods(*scores):
        return path_scores(scores[0], labels, *scores[1:], CHAINS) - log_partition(*scores, CHAINS)

    assert torch.autograd.gradcheck(likelihoods, inputs)


def test_no_array_is_larger_than_the_transitions():
    n_labels, kept = 101, []
    scores = torch.zeros(int(CHAINS.sum()), n_labels), torch.zeros(n_labels)
    transitions = torch.zeros(n_labels, n_labels, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda each: (kept.append(each.numel()), each)[1], lambda each: each
    ):
        log_partition(*scores, transitions, CHAINS)
    assert max(kept) == transitions.numel()


def test_a_forbidden_transition_is_on_no_path(chain):
    emissions, first, transitions = chain
    emissions[:, 2] += 50  # label 2 would be everywhere
    first[2] = transitions[0, 2] = -torch.inf  # 2 neither begins nor follows 0
    emissions.requires_grad_(), transitions.requires_grad_()
    total = log_partition(emissions, first, transitions, CHAINS)
    total.sum().backward()
    assert torch.isfinite(total).all()
    assert torch.isfinite(emissions.grad).all()
    assert transitions.grad[0, 2] == 0
    found = split(best_paths(emissions, first, transitions, CHAINS))
    shares = split(marginals(emissions, first, transitions, CHAINS))
    for rows, path, share in zip(split(emissions.detach()), found, shares, strict=True):
        scores = every_path(rows, first, transitions.detach())
        assert tuple(path.tolist()) == max(scores, key=scores.__getitem__)
        assert len(path) == 0 or share[0, 2] == 0


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_huge_scores_give_finite_probabilities(size):
    generator = torch.Generator().manual_seed(1)
    emissions = size * torch.randn(11, 3, generator=generator)
    transitions = size * torch.randn(3, 3, generator=generator)
    first = torch.tensor([0.0, 0.0, -torch.inf])
    shares = marginals(emissions, first, transitions, CHAINS)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert torch.isfinite(log_partition(emissions, first, transitions, CHAINS)).all()
    assert not (best_paths(emissions, first, transitions, torch.ones(11).long()) == 2).any()
    nothing, lengths = torch.zeros(0, 3), torch.zeros(2, dtype=torch.int64)
    assert log_partition(nothing, first, transitions, lengths).tolist() == [0, 0]
    assert best_paths(nothing, first, transitions, lengths).shape == (0,)
    assert marginals(nothing, first, transitions, lengths).shape == (0, 3)


@pytest.mark.parametrize(
    ("word", "shape"), [("", ""), ("NATO", "XX"), ("e-mail", "x-xx"), ("$4.50", "$d.dd")]
)
def test_word_shapes_shorten_runs_to_two_characters(word, shape):
    assert word_shape(word) == shape


@pytest.mark.parametrize("crf", [True, False])
def test_class_weights_adjust_the_logits_of_the_loss(crf):
    names = sorted({label for labels in Y for label in labels})
    weights = np.arange(1.0, len(names) + 1)
    tagger = tiny_tagger(crf=crf, class_weight=dict(zip(names, weights, strict=True))).fit(X, Y)
    kinds = token_kinds(as_sentences(X))
    net, sentences = tagger.net_, encode_sentences(kinds, tagger.vocabularies_)
    logits = net.compute("attend", sentences).logits
    targets = np.array([names.index(label) for labels in Y for label in labels])

    class Batch:
        inputs, weights = sentences, np.ones(len(X))

    larger = logits + torch.from_numpy(np.log(weights)).to(logits)
    weighted = net.get_loss(larger, targets, X=Batch)
    net.class_weights = None
    torch.testing.assert_close(weighted, net.get_loss(logits, targets, X=Batch))
    assert not torch.isclose(weighted, net.get_loss(larger, targets, X=Batch))
