"""The files around the package agree with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sk_han

ROOT = Path(__file__).parents[2]


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


PROJECT = tomllib.loads(text_of("pyproject.toml"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
OWNER, NAME = REPOSITORY.split("/")[-2:]
# Threads of other projects that README links to.
OTHERS = {
    "marcotcr/lime",
    "shap/shap",
    "TeamHG-Memex/eli5",
    "catboost/catboost",
    "huggingface/setfit",
}
ADDRESSED = [
    "README.md",
    "CITATION.cff",
    "SECURITY.md",
    ".github/ISSUE_TEMPLATE/config.yml",
    "conda/recipe.yaml",
]


def test_the_version_is_one_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", text_of("CITATION.cff"), re.M)[1]
    newest = re.search(r"^## (\S+)", text_of("CHANGES.md"), re.M)[1]
    recipe = re.search(r'^  version: "(.+)"$', text_of("conda/recipe.yaml"), re.M)[1]
    assert cited == newest == recipe == sk_han.__version__


def test_the_project_has_one_address() -> None:
    urls = {
        "Documentation": f"https://{OWNER}.github.io/{NAME}/",
        "Issues": f"{REPOSITORY}/issues",
        "Changelog": f"{REPOSITORY}/blob/main/CHANGES.md",
    }
    assert {name: PROJECT["urls"][name] for name in urls} == urls


@pytest.mark.parametrize("name", ADDRESSED)
def test_files_name_the_address_of_the_project(name: str) -> None:
    text = text_of(name)
    hosts = r"(?:github\.com|githubusercontent\.com|codecov\.io/gh)/([\w-]+/[\w-]+)"
    assert set(re.findall(hosts, text)) - OTHERS == {f"{OWNER}/{NAME}"}
    assert set(re.findall(r"([\w-]+)\.github\.io/([\w-]+)", text)) <= {(OWNER, NAME)}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/reliability.md"])
def test_files_that_pages_name_exist(name: str) -> None:
    named = set(re.findall(r"`(\w+/[\w./]*)`", text_of(name)))
    assert named
    roots = (ROOT, ROOT / "sk_han", ROOT / "sk_han" / "inspection")
    assert [path for path in named if not any((root / path).exists() for root in roots)] == []


def test_workflows_and_hooks_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", text_of("Makefile"), re.M))
    files = [
        *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
        ROOT / ".pre-commit-config.yaml",
    ]
    called = set()
    for file in files:
        for line in re.findall(r"(?:run|entry): make (.+)$", file.read_text("utf-8"), re.M):
            called |= {word for word in line.split() if re.fullmatch(r"[a-z-]+", word)}
    assert called >= {"kernels", "fast", "lint", "docs", "test-oldest", "test-newest", "test-wheel"}
    assert called <= targets


def test_every_python_that_is_claimed_is_tested() -> None:
    claimed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text_of("pyproject.toml"))
    tested = re.findall(r'"(3\.\d+)"', text_of(".github/workflows/tests.yml"))
    assert claimed
    assert set(claimed) == set(tested)


def test_the_menu_of_versions_prefers_the_newest_release(tmp_path: Path) -> None:
    for name in ("dev", "v0.9.0", "v0.10.0", "assets"):
        (tmp_path / name).mkdir()
    script, site = ROOT / "docs" / "versions.py", "https://docs.example"
    subprocess.run([sys.executable, script, tmp_path, site], check=True)
    listed = json.loads((tmp_path / "versions.json").read_text("utf-8"))
    assert [each["version"] for each in listed] == ["v0.10.0", "v0.9.0", "dev"]
    assert [each["version"] for each in listed if each["preferred"]] == ["v0.10.0"]
    assert "v0.10.0/" in (tmp_path / "index.html").read_text("utf-8")
