"""The methods of explain: Shapley values, attention times gradient, attention, random numbers."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import Coalitions, DocumentArray
from sk_han.inspection.results.document import combine_attention
from sk_han.parts.pool import NETWORK, WORDS

if TYPE_CHECKING:
    from sk_han.inspection.explanations import ExplainOptions, LogOdds

METHODS = ("shapley", "gradient_attention", "attention", "random")

# Up to 6 sentences all sets of them are scored; up to 40 they are added in 8 orders, else in 4.
_ALL_SETS_OF = 6
_MANY_ORDERS_OF, _MANY_ORDERS, _FEW_ORDERS = 40, 8, 4
# Values that are smaller, relative to the log-odds, are rounding errors, which a page would draw
# as full bars.
_ROUNDING = 1e-12
# Longer documents are added in groups of neighbouring sentences, so that time grows linearly.
_MOST_PLAYERS = 64


class Contributions(NamedTuple):
    """The numbers that explain a batch of documents."""

    logits: NDArray[np.float64]  # (D, K), of the ensemble
    word_attention: NDArray[np.float64]  # (T,)
    sentence_attention: NDArray[np.float64]  # (N,)
    words: NDArray[np.float64]  # (T,)
    sentences: NDArray[np.float64]  # (N,)
    ngrams: NDArray[np.float64]  # (T,), the share of the linear parts in `words`
    sentence_errors: NDArray[np.float64] | None = None  # (N,), standard errors of "shapley"
    base_values: NDArray[np.float64] | None = None  # (D,), log-odds of documents without words


def contributions_of(
    documents: DocumentArray, log_odds: LogOdds, options: ExplainOptions, random: Any
) -> Contributions:
    """Compute the contributions of words and sentences to the log-odds of each document."""
    pool, method = log_odds.pool, options.method
    if method in ("shapley", "gradient_attention"):
        attribution = pool.network.gradient_attention(documents, log_odds)
    else:
        assert method in ("attention", "random"), method
        attribution = pool.network.attend(documents)
    logits = log_odds.logits(attribution.logits)
    gradient = log_odds.gradient(logits)
    by_networks, ngrams = attribution.words, np.zeros(documents.n_words)
    for name, part in pool.parts.items():
        if name != NETWORK and np.any(pool.scales[name]):
            share = part.attributions(documents, pool.scales[name] * gradient)
            if name == WORDS:
                by_networks = by_networks + share
            else:
                ngrams += share
    if method == "attention":
        sentences = attribution.sentence_attention
        of_sentence = np.repeat(sentences, documents.words_per_sentence)  # (T,)
        words = combine_attention(attribution.word_attention, of_sentence, options.combine)
    else:
        # The attention of sentences has a gradient of its own, but each state of the sentence
        # encoder mixes in its neighbours: on 300 reviews of `make_reviews`, with a network trained
        # on 2,000 others, the average precision for sentences that state the label is 0.976 with
        # the sum over words and 0.953 with that gradient.
        words = by_networks + ngrams
        if method == "random":
            words = random.uniform(-1, 1, documents.n_words)
        starts = documents.sentence_starts[:-1]
        sentences = np.add.reduceat(words, starts) if len(words) else np.zeros(0)
    contributions = Contributions(
        logits, attribution.word_attention, attribution.sentence_attention, words, sentences, ngrams
    )
    return _by_shapley(documents, log_odds, contributions) if method == "shapley" else contributions


class _Design(NamedTuple):
    """Which sets of n players are scored, and the weights that turn scores into values."""

    sets: NDArray[np.bool_]  # (M, n); the first is empty, the last has all players
    weights: NDArray[np.float64]  # (G, n, M): G estimates of each value


def _by_shapley(
    documents: DocumentArray, log_odds: LogOdds, by_gradient: Contributions
) -> Contributions:
    """Replace the contributions of sentences by their Shapley values, which their words share.

    A word's share is its contribution by gradient; the rest of the value of the sentence is divided
    in proportion to these.
    """
    n_sentences = documents.sentences_per_document
    designs = [_design(min(int(n), _MOST_PLAYERS)) for n in n_sentences]
    # A player is a sentence or, in long documents, a group of neighbours.
    players = [np.arange(n) * min(n, _MOST_PLAYERS) // max(n, 1) for n in n_sentences.tolist()]
    members, n_members = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first, design, player in zip(documents.document_starts, designs, players, strict=False):
        sets = design.sets[:, player]  # (M, n)
        members.append(first + np.nonzero(sets)[1])
        n_members.append(sets.sum(axis=1))
    coalitions = Coalitions(np.concatenate(members), np.concatenate(n_members))
    n_sets = np.array([len(design.sets) for design in designs])
    document_of = np.repeat(np.arange(len(documents)), n_sets)
    classes = log_odds.classes
    scores = log_odds.pool.target.log_odds(
        log_odds.pool.coalitions(documents, coalitions),
        classes.targets(by_gradient.logits)[document_of],
        classes.against[document_of],
    )
    ends = np.cumsum(n_sets)
    sentences, errors = by_gradient.sentences.copy(), np.zeros(documents.n_sentences)
    for i, (design, player) in enumerate(zip(designs, players, strict=True)):
        own = scores[ends[i] - n_sets[i] : ends[i]]
        estimates = design.weights @ own  # (G, n)
        estimates[np.abs(estimates) < _ROUNDING * np.abs(own).max()] = 0
        rows = slice(documents.document_starts[i], documents.document_starts[i + 1])
        sentences[rows] = _summing_to(estimates.mean(axis=0), sentences[rows], player)
        if len(estimates) > 1:
            errors[rows] = (estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates)))[player]
    sentence_of_word = np.repeat(np.arange(len(sentences)), documents.words_per_sentence)
    shares = np.concatenate([by_gradient.words - by_gradient.ngrams, by_gradient.ngrams])
    shares = _summing_to(sentences, shares, np.tile(sentence_of_word, 2))
    by_network, by_ngrams = np.split(shares, 2)
    return by_gradient._replace(
        words=by_network + by_ngrams,
        sentences=sentences,
        ngrams=by_ngrams,
        sentence_errors=errors,
        base_values=scores[ends - n_sets],
    )


@cache
def _design(n: int) -> _Design:
    """Return the sets of n players to score: all if n is small, else beginnings of orders."""
    if n > _ALL_SETS_OF:
        return _sets_of_orders(n, _MANY_ORDERS if n <= _MANY_ORDERS_OF else _FEW_ORDERS)
    # The values from all sets are exact (Shapley, 1953).
    sets = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) % 2 == 1  # (2 ** n, n)
    size = sets.sum(axis=1)
    # The chance, by size, that a set of other players is the one added before a player.
    chance = np.array([1 / (n * comb(n - 1, k)) for k in range(n)] + [0.0])
    with_player, without = chance[size - 1], -chance[size]
    return _Design(sets, np.where(sets.T, with_player, without)[np.newaxis])


def _sets_of_orders(n: int, n_orders: int) -> _Design:
    """Add n players in some orders, each followed by its reverse (Mitchell et al., 2022).

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
