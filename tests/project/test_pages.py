"""Python blocks of README and pages run, as do commands of the tutorial; no line is lost."""

import re
import shlex
import sys
import types
from pathlib import Path

import pytest
import torch

from sk_han.cli import main

ROOT = Path(__file__).parents[2]
FILES = [ROOT / name for name in ("README.md", "CHANGES.md", "CONTRIBUTING.md")]
FILES += sorted((ROOT / "docs").glob("*.md"))
FILES += sorted((ROOT / "docs" / "how_to").glob("*.md"))
CONTRIBUTORS = ("architecture", "changes", "what_was_tried")
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [
    file.relative_to(ROOT).as_posix()
    for file in FILES
    if "\n```python\n" in file.read_text("utf-8")
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
        for language, block in BLOCK.findall((ROOT / path).read_text("utf-8")):
            if language == "python":
                exec(compile(block, path, "exec"), vars(module))
                continue
            for line in block.splitlines():
                if line.startswith("sk-han "):
                    assert main(shlex.split(line)[1:]) == 0, line

    yield run
    torch.set_num_threads(n_threads)


@pytest.mark.thorough
@pytest.mark.parametrize("path", PAGES)
def test_blocks_of_a_page_run(page, path):
    page(path)


def test_pages_with_blocks_are_found():
    assert {"README.md", "docs/index.md", "docs/how_to/train.md", "docs/tutorial.md"} <= set(PAGES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_line_of_text_begins_a_myst_comment(file):
    text = re.sub(r"^```.*?^```", "", file.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^\s*%.*", text, re.MULTILINE) == []


@pytest.mark.parametrize("name", CONTRIBUTORS)
def test_pages_for_contributors_are_not_searched(name):
    assert (ROOT / "docs" / f"{name}.md").read_text("utf-8").startswith("---\nnosearch: true\n---")
