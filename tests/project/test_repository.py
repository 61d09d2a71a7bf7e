"""The files around the package agree with it."""

from __future__ import annotations

import re
from pathlib import Path

import sk_han

ROOT = Path(__file__).parents[2]


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_version_is_one_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", text_of("CITATION.cff"), re.M)[1]
    newest = re.search(r"^## (\S+)", text_of("CHANGES.md"), re.M)[1]
    assert cited == newest == sk_han.__version__
