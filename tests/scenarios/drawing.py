"""Scenarios drawn from a table of dimensions so that every pair of values comes together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

# The name of a value for each dimension.
Scenario = dict[str, str]
Table = Mapping[str, Sequence[str]]
Slow = Mapping[str, Collection[str]]
Legal = Callable[[Scenario], bool]
# A dimension and its value, twice.
Pair = tuple[tuple[str, str], tuple[str, str]]

# Orders in which the dimensions of a scenario are filled before a pair counts as impossible.
_TRIES = 20


def possible_pairs(table: Table, legal: Legal) -> list[Pair]:
    """Return the pairs of values of two dimensions that may come together."""
    pairs: list[Pair] = []
    for (one, values), (other, others) in combinations(table.items(), 2):
        for value in values:
            pairs += [((one, value), (other, o)) for o in others if legal({one: value, other: o})]
    return pairs


def missing_pairs(scenarios: Iterable[Scenario], table: Table, legal: Legal) -> list[Pair]:
    """Return the possible pairs that no scenario has."""
    missing = set(possible_pairs(table, legal))
    for scenario in scenarios:
        missing -= set(combinations(((name, scenario[name]) for name in table), 2))
    return sorted(missing)


def covering(table: Table, legal: Legal, seed: int, slow: Slow | None = None) -> Iterator[Scenario]:
    """Yield legal scenarios until each possible pair was in one.

    Greedy: a scenario begins with a pair that is still missing, and each further dimension gets
    the value that brings the most missing pairs (Cohen et al., 1997, IEEE Transactions on Software
    Engineering 23), of equal ones none of the slow.
    """
    rng = np.random.default_rng(seed)
    values = [(name, value) for name in table for value in table[name]]
    number_of = {value: number for number, value in enumerate(values)}
    is_slow = np.array([value in (slow or {}).get(name, ()) for name, value in values])
    missing = np.zeros((len(values), len(values)), dtype=bool)
    for one, other in possible_pairs(table, legal):
        missing[number_of[one], number_of[other]] = missing[number_of[other], number_of[one]] = True

    def filled(first: Scenario) -> Scenario | None:
        """Return a scenario of all dimensions, or None if one has no legal value left."""
        scenario = dict(first)
        chosen = [number_of[item] for item in scenario.items()]
        for name in rng.permutation([name for name in table if name not in first]).tolist():
            possible = [value for value in table[name] if legal(scenario | {name: value})]
            if not possible:
                return None
            numbers = np.array([number_of[name, value] for value in possible])
            gains = missing[np.ix_(numbers, chosen)].sum(axis=1) - 0.5 * is_slow[numbers]
            number = int(rng.choice(numbers[gains == gains.max()]))
            scenario[name] = values[number][1]
            chosen.append(number)
        return scenario

    while missing.any():
        rows, columns = np.nonzero(missing)
        drawn = int(rng.integers(len(rows)))
        first = dict([values[rows[drawn]], values[columns[drawn]]])
        scenario = next(filter(None, (filled(first) for _ in range(_TRIES))), None)
        if scenario is None:
            raise ValueError(f"No legal scenario has {first}: say so in the table.")
        chosen = [number_of[name, scenario[name]] for name in table]
        missing[np.ix_(chosen, chosen)] = False
        yield scenario


def shortest(scenario: Scenario, table: Table, fails: Callable[[Scenario], bool]) -> Scenario:
    """Set dimensions to their defaults, as long as the scenario fails, and return the others.

    The first value of a dimension is its default.
    """
    found = dict(scenario)
    changed = [name for name in table if found[name] != table[name][0]]
    size = max(len(changed) // 2, 1)
    while True:  # halves, quarters, ... and single ones until none can be left out
        before = len(changed)
        for first in range(0, len(changed), size):
            block = changed[first : first + size]
            simpler = found | {name: table[name][0] for name in block}
            if fails(simpler):
                found = simpler
        changed = [name for name in changed if found[name] != table[name][0]]
        if size == 1 and len(changed) == before:
            return {name: found[name] for name in changed}
        size = max(size // 2, 1)
