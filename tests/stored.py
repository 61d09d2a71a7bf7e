"""Stored copies of pages and texts; with ``SK_HAN_TEST_UPDATE=1``, tests write them anew."""

import os
import re
from pathlib import Path

PAGES = Path(__file__).parent / "pages"


def assert_stored(name: str, content: str) -> None:
    """Compare a text with the stored copy of this name."""
    path = PAGES / name
    if "SK_HAN_TEST_UPDATE" in os.environ:
        path.write_bytes(content.encode())
    assert content == path.read_bytes().decode()


def by_line(html: str) -> str:
    """Return a page without its style sheet, each block on a line of its own."""
    html = re.sub("<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"(?=<(?:h\d|p|div|t[rd]|details)\b)", "\n", html)


def rounded(data):
    """Return nested data whose numbers are those of any processor."""
    if isinstance(data, dict):
        return {str(name): rounded(value) for name, value in data.items()}
    if isinstance(data, list):
        return [rounded(value) for value in data]
    return float(f"{data:.9g}") if isinstance(data, float) else data
