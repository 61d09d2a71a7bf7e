"""Matrices of which a few cases are fast tests."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def first_fast(cases: Iterable[object], n: int = 1) -> list[object]:
    """Mark all but the first cases `thorough`; a case of several arguments is a tuple."""
    cases = list(cases)
    rest = (case if isinstance(case, tuple) else (case,) for case in cases[n:])
    return [*cases[:n], *(pytest.param(*case, marks=pytest.mark.thorough) for case in rest)]
