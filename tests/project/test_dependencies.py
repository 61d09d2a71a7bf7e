"""Each lower bound of pyproject.toml is the release that `make test-oldest` installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# The benchmarks and the pages are made with one set of releases alone, those of constraints.txt;
# neighbours are tested with the newest. Of an encoder one method is called, `encode`, which tests
# have of their own.
NOT_TESTED = {"benchmarks", "docs", "encoder", "neighbours"}


def lower_bounds(lines: list[str]) -> dict[str, Version]:
    """The one release at or above which each requirement allows all."""
    found = {}
    for requirement in map(Requirement, lines):
        (bound,) = (each for each in requirement.specifier if each.operator == ">=")
        found[canonicalize_name(requirement.name)] = Version(bound.version)
    return found


def bounds_of(project: dict) -> dict[str, Version]:
    extras = project["project"]["optional-dependencies"]
    lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in extras.keys() - NOT_TESTED:
        lines += extras[extra]
    return lower_bounds(lines)


def pins_of(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pins = {}
    for requirement in requirements:
        (pin,) = requirement.specifier
        assert pin.operator == "==", requirement
        pins[canonicalize_name(requirement.name)] = Version(pin.version)
    return pins


BOUNDS = bounds_of(PROJECT)
OLDEST = pins_of("constraints-oldest.txt")


def test_all_that_users_install_has_a_bound() -> None:
    core = {"torch", "numpy", "scikit-learn", "skorch", "joblib", "scipy", "numba", "safetensors"}
    assert BOUNDS.keys() >= core


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_the_lower_bound_is_the_release_that_is_tested(name: str) -> None:
    assert OLDEST.get(name) == BOUNDS[name], f"{name}: bring both files to one release"


def test_extras_ask_for_the_same_release() -> None:
    lines = PROJECT["project"]["dependencies"] + [
        line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra
    ]
    for name, bound in lower_bounds(lines).items():
        own = [line for line in lines if canonicalize_name(Requirement(line).name) == name]
        assert {bound} == {lower_bounds([line])[name] for line in own}, own


def test_the_tested_releases_are_allowed() -> None:
    pins = pins_of("constraints.txt")
    below = {name: pin for name, pin in pins.items() if name in BOUNDS and pin < BOUNDS[name]}
    assert below == {}


def test_the_oldest_python_is_the_same_everywhere() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^OLDEST_PYTHON \?= python(.+)$", makefile, re.M)[1] == oldest
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")


def test_the_conda_recipe_requires_the_same_releases() -> None:
    project = PROJECT["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    oldest = re.search(r'python_min: "(.+)"', recipe)[1]
    lines = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.M)[1].split("    - ")[1:]
    python, *others = [line.strip().replace("${{ python_min }}", oldest) for line in lines]
    assert python == f"python {project['requires-python']}"
    required = {Requirement(line.replace("pytorch ", "torch ")) for line in others}
    assert required == set(map(Requirement, project["dependencies"]))


def test_a_bound_below_the_pin_is_noticed() -> None:
    bounds = lower_bounds(["torch>=2.5,<3", "NumPy>=1.26"])
    assert bounds == {"torch": Version("2.5.0"), "numpy": Version("1.26.0")}
    assert OLDEST["torch"] != bounds["torch"]
