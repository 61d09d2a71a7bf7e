"""The page "What you can rely on" names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_folders_of_tests_exist():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[^`]+)`", page))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
