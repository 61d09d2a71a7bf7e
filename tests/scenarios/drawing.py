"""Scenarios drawn from a table of dimensions so that every pair of values comes together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

__all__ = ["Scenario", "covering", "missing_pairs", "shortest", "without_end"]

# The name of a value for each dimension.
Scenario = dict[str, str]
Table = Mapping[str, Sequence[str]]
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


def covering(table: Table, legal: Legal, seed: int) -> Iterator[Scenario]:
    """Yield legal scenarios until each possible pair was in one.

    Greedy: a scenario begins with a pair that is still missing, and each further dimension gets
    the value that brings the most missing pairs (Cohen et al., 1997).

    Parameters
    ----------
    table : mapping of a dimension to the names of its values
    legal : callable
        Whether values may come together; scenarios of some dimensions are asked for.
    seed : int

    Yields
    ------
    dict of str to str

    References
    ----------
    Cohen, Dalal, Fredman, Patton (1997). The AETG System. IEEE Transactions on Software
    Engineering 23.
    """
    rng = np.random.default_rng(seed)
    values = [(name, value) for name in table for value in table[name]]
    number_of = {value: number for number, value in enumerate(values)}
    missing = np.zeros((len(values), len(values)), dtype=bool)
    for one, other in possible_pairs(table, legal):
        missing[number_of[one], number_of[other]] = missing[number_of[other], number_of[one]] = True

    while missing.any():
        rows, columns = np.nonzero(missing)
        drawn = int(rng.integers(len(rows)))
        first = dict([values[rows[drawn]], values[columns[drawn]]])
        for _ in range(_TRIES):
            scenario = _filled(first, table, legal, missing, number_of, rng)
            if scenario is not None:
                break
        else:
            raise ValueError(f"No legal scenario has {first}: say so in the table.")
        chosen = [number_of[name, scenario[name]] for name in table]
        missing[np.ix_(chosen, chosen)] = False
        yield scenario


def without_end(table: Table, legal: Legal, seed: int) -> Iterator[Scenario]:
    """Yield the scenarios of one covering set after the other, each drawn anew."""
    while True:
        yield from covering(table, legal, seed)
        seed += 1


def shortest(scenario: Scenario, table: Table, fails: Callable[[Scenario], bool]) -> Scenario:
    """Set one dimension after the other to its default, as long as the scenario fails.

    Parameters
    ----------
    scenario : dict of str to str
        One that fails.
    table : mapping
        The first value of a dimension is its default.
    fails : callable
        Whether a scenario fails in the same way.

    Returns
    -------
    dict of str to str
        The dimensions that have to have another value than their default.
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


def _filled(
    first: Scenario,
    table: Table,
    legal: Legal,
    missing: np.ndarray,
    number_of: dict[tuple[str, str], int],
    rng: np.random.Generator,
) -> Scenario | None:
    """Return a scenario of all dimensions, or None if a dimension has no legal value left."""
    scenario, names = dict(first), list(table)
    chosen = [number_of[item] for item in scenario.items()]
    for position in rng.permutation(len(names)).tolist():
        name = names[position]
        if name in scenario:
            continue
        possible = [value for value in table[name] if legal(scenario | {name: value})]
        if not possible:
            return None
        numbers = [number_of[name, value] for value in possible]
        gains = missing[np.ix_(numbers, chosen)].sum(axis=1)
        best = np.flatnonzero(gains == gains.max())
        scenario[name] = possible[int(rng.choice(best))]
        chosen.append(number_of[name, scenario[name]])
    return scenario
