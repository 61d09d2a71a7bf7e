"""Every Python block of the pages for users and of the README runs."""

import re
import sys
import types
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


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
        assert blocks
        for block in blocks:
            exec(compile(block, path, "exec"), vars(module))

    yield run
    torch.set_num_threads(n_threads)


def test_blocks_of_the_user_guide_run(page):
    page("docs/user_guide.md")


def test_blocks_of_the_page_on_explanations_run(page):
    page("docs/believing.md")


def test_blocks_of_the_readme_run(page):
    page("README.md")
