"""Every Python block of the pages for users and of the README runs."""

import re
import sys
import types
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES += sorted((ROOT / "docs" / "how_to").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [
    file.relative_to(ROOT).as_posix() for file in FILES if BLOCK.search(file.read_text("utf-8"))
]


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Run the blocks of a page one after the other, as a reader would."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")  # joblib looks functions up by their module
    monkeypatch.setitem(sys.modules, "page", module)
    n_threads = torch.get_num_threads()

    def run(path):
        blocks = BLOCK.findall((ROOT / path).read_text("utf-8"))
        for block in blocks:
            exec(compile(block, path, "exec"), vars(module))

    yield run
    torch.set_num_threads(n_threads)


@pytest.mark.parametrize("path", PAGES)
def test_blocks_of_a_page_run(page, path):
    page(path)


def test_pages_with_blocks_are_found():
    assert {"README.md", "docs/index.md", "docs/how_to/train.md"} <= set(PAGES)
