"""Shapley values of sentences: what each adds, on average over the orders of putting them in."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import Coalitions, DocumentArray
from sk_han.inspection.methods.contributions import (
    Batch,
    Contributions,
    by_sentence,
    with_other_parts,
)

# Sentences up to which all sets of them are read, and orders in which more are put in.
_ALL_SETS_OF = 6
_MANY_ORDERS_OF, _MANY_ORDERS, _FEW_ORDERS = 40, 8, 4
# Smaller values, beside the log-odds, are their rounding; a page would draw them as full bars.
_ROUNDING = 1e-12
# Longer documents are put in by groups of neighbours, so that time grows as the documents do.
_MOST_PLAYERS = 64


class _Design(NamedTuple):
    """Which sets of n players are read, and what makes values of these readings."""

    sets: NDArray[np.bool_]  # (M, n); the first is empty, the last has all players
    weights: NDArray[np.float64]  # (G, n, M): G estimates of each value


def by_shapley(batch: Batch) -> Contributions:
    """Give sentences their Shapley values, and words shares of these.

    A word's share is what attention times gradient, and what n-grams, say of it; what these leave
    of the value of the sentence is divided in proportion.
    """
    documents = batch.documents
    found = with_other_parts(batch, batch.network.gradient_attention(documents, batch.score))
    score = batch.score.toward(batch.score.targets_of(found.logits))
    sizes = documents.sentences_per_document
    designs = [_design(min(int(n), _MOST_PLAYERS)) for n in sizes]
    coalitions = _coalitions(documents, designs)
    n_sets = np.array([len(design.sets) for design in designs])
    document = np.repeat(np.arange(len(documents)), n_sets)
    read = score[document].of_logits(batch.pool.coalitions(documents, coalitions))
    ends = np.cumsum(n_sets)
    sentences, errors = by_sentence(found.words, documents), np.zeros(documents.n_sentences)
    for i, design in enumerate(designs):
        read_of_it = read[ends[i] - n_sets[i] : ends[i]]
        estimates = design.weights @ read_of_it  # (G, n)
        estimates[np.abs(estimates) < _ROUNDING * np.abs(read_of_it).max()] = 0
        rows = slice(documents.document_starts[i], documents.document_starts[i + 1])
        player = _player_of(int(sizes[i]))
        sentences[rows] = _summing_to(estimates.mean(axis=0), sentences[rows], player)
        if len(estimates) > 1:
            errors[rows] = (estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates)))[player]
    sentence_of_word = np.repeat(np.arange(len(sentences)), documents.words_per_sentence)
    parts = np.concatenate([found.words - found.ngrams, found.ngrams])
    shares = _summing_to(sentences, parts, np.tile(sentence_of_word, 2))
    by_network, by_ngrams = np.split(shares, 2)
    return found._replace(
        words=by_network + by_ngrams,
        sentences=sentences,
        ngrams=by_ngrams,
        sentence_errors=errors,
        base_values=read[ends - n_sets],
    )


def _player_of(n_sentences: int) -> NDArray[np.int64]:
    """Return the number of the player that each sentence belongs to."""
    n_players = min(n_sentences, _MOST_PLAYERS)
    return np.arange(n_sentences) * n_players // max(n_sentences, 1)


def _coalitions(documents: DocumentArray, designs: list[_Design]) -> Coalitions:
    sentences, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first, n, design in zip(
        documents.document_starts, documents.sentences_per_document, designs, strict=False
    ):
        sets = design.sets[:, _player_of(int(n))]  # (M, n)
        sentences.append(first + np.nonzero(sets)[1])
        lengths.append(sets.sum(axis=1))
    return Coalitions(np.concatenate(sentences), np.concatenate(lengths))


@cache
def _design(n: int) -> _Design:
    """Return the sets of n players to read: all of few, else the beginnings of some orders."""
    if n <= _ALL_SETS_OF:
        return _all_sets(n)
    n_orders = _MANY_ORDERS if n <= _MANY_ORDERS_OF else _FEW_ORDERS
    return _sets_of_orders(n, n_orders)


def _all_sets(n: int) -> _Design:
    """Weigh all sets of n players, whose values are then exact (Shapley, 1953)."""
    sets = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) % 2 == 1  # (2 ** n, n)
    size = sets.sum(axis=1)
    # The chance of a set of others to be those before a player, by its size.
    chance = np.array([1 / (n * comb(n - 1, k)) for k in range(n)] + [0.0])
    with_player, without = chance[size - 1], -chance[size]
    return _Design(sets, np.where(sets.T, with_player, without)[np.newaxis])


def _sets_of_orders(n: int, n_orders: int) -> _Design:
    """Put n players in by some orders, each followed by its reverse (Mitchell et al., 2022).

    An estimate is the mean over an order and its reverse. Orders begin at other places of the same
    ring, so that a player comes early in one and late in another.
    """
    ring, estimates = np.random.RandomState(n).permutation(n), n_orders // 2
    sets, weights = [np.zeros((1, n), dtype=bool)], []
    n_sets = n_orders * (n - 1) + 2
    for estimate in range(estimates):
        order = np.roll(ring, estimate * n // estimates)
        weights.append(np.zeros((n, n_sets)))
        for way in (order, order[::-1]):
            first = sum(map(len, sets))  # the number of the set of one player
            sets.append(np.argsort(way) < np.arange(1, n)[:, np.newaxis])
            numbers = np.r_[0, first : first + n - 1, n_sets - 1]
            weights[-1][way, numbers[1:]] += 0.5
            weights[-1][way, numbers[:-1]] -= 0.5
    sets.append(np.ones((1, n), dtype=bool))
    return _Design(np.concatenate(sets), np.array(weights))


def _summing_to(
    totals: NDArray[np.float64], values: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Change values so that those of each group sum to its total, in proportion to their sizes."""
    n = len(totals)
    rest = totals - np.bincount(group, values, n)
    sizes = np.abs(values)
    whole = np.bincount(group, sizes, n)
    even = 1 / np.maximum(np.bincount(group, minlength=n), 1)
    share = np.where(whole[group] > 0, sizes / np.where(whole > 0, whole, 1)[group], even[group])
    return values + rest[group] * share
