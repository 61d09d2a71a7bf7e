"""The mutants of `make test-mutants`: what they change, and that their draw is stable."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("coverage")

from tests.mutants import draw, find_mutants

SOURCE = '''"""A module; 1 < 2."""
LEAST: int = 3
_CONSTRAINTS = {"size": 1}

def pooled(x: Literal[7], mask, axis: int = 0) -> float:
    """Return 1 + 1."""
    if x < LEAST and mask:
        raise ValueError(f"é {x + 1}")
    kept = np.where(~mask, "é", -x)
    return min(kept.sum(axis=1), kept + 2, key=str, flag=True)
'''
CHANGES = {
    "off by one LEAST: int = 4",
    "off by one def pooled(x: Literal[7], mask, axis: int = 1) -> float:",
    "comparison if (x <= LEAST) and mask:",
    "and/or if (x < LEAST or mask):",
    "check pass",
    "mask kept = (np.where(~mask, -x, 'é'))",
    'sign kept = np.where((mask), "é", -x)',
    'sign kept = np.where(~mask, "é", (x))',
    "function return max(kept.sum(axis=1), kept + 2, key=str, flag=True)",
    "axis return min(kept.sum(axis=0), kept + 2, key=str, flag=True)",
    "arithmetic return min(kept.sum(axis=1), (kept - 2), key=str, flag=True)",
    "off by one return min(kept.sum(axis=1), kept + 3, key=str, flag=True)",
    "flag return min(kept.sum(axis=1), kept + 2, key=str, flag=False)",
}


def test_mutants_change_one_line_of_code_and_no_annotation() -> None:
    lines, found = SOURCE.splitlines(), set()
    for mutant in find_mutants("sk_han/nn/_pools.py", SOURCE.encode()):
        mutated = mutant.apply(SOURCE.encode()).decode()
        ast.parse(mutated)
        (line,) = [line for line in mutated.splitlines() if line not in lines]
        found.add(f"{mutant.kind} {line.strip()}")
    assert found == CHANGES


def test_the_draw_ignores_other_functions_and_underscores() -> None:
    def drawn(path: str, source: str) -> list[str]:
        rest = find_mutants("sk_han/text/reader.py", SOURCE.encode())
        return [m.identity for m in draw(find_mutants(path, source.encode()) + rest, number=8)]

    before = drawn("sk_han/nn/pools.py", SOURCE)
    assert len(before) == 8
    edited = f"import math\n\ndef other():\n    return math.pi\n\n{SOURCE}"
    assert drawn("sk_han/_nn/_pools.py", edited) == before
    shorter = SOURCE.replace("LEAST: int = 3", "LEAST = None")  # the other mutants stay
    kept = {identity for identity in before if ":off by one:3" not in identity}
    assert kept <= set(drawn("sk_han/nn/pools.py", shorter))


def test_former_mutants_are_drawn_again() -> None:
    mutants = find_mutants("sk_han/nn/pools.py", SOURCE.encode())
    former = {mutant.identity for mutant in mutants[-3:]}
    assert {mutant.identity for mutant in draw(mutants, former, number=3)} == former
