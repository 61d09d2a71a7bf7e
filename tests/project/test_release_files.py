"""What wheel and sdist hold: the package and its papers, whatever else lies in the folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sk_han

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
KINDS = [
    "**/*.py",
    "**/*.pyi",
    "py.typed",
    "_rendering/*.css",
    "_rendering/*.jinja",
    "serving/*.html",
]
PACKAGE = {str(file.relative_to(ROOT)) for kind in KINDS for file in ROOT.glob(f"sk_han/{kind}")}
METADATA = {
    "METADATA",
    "RECORD",
    "WHEEL",
    "entry_points.txt",
    "licenses/LICENSE",
    "top_level.txt",
}
BESIDE = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
EGG_INFO = {
    "PKG-INFO",
    "SOURCES.txt",
    "dependency_links.txt",
    "entry_points.txt",
    "requires.txt",
    "top_level.txt",
}
# What may lie about where a release is made, and is nobody else's.
STRAY = [
    ".env",
    "reviews.csv",
    "model.han",
    "build/lib/sk_han/taken_out.py",
    "dist/older.whl",
    "sk_han/.env",
    "sk_han/reviews.csv",
    "sk_han/model.pickle",
    "sk_han/nn/__pycache__/han.cpython-311.pyc",
    "sk_han/nn/__pycache__/kernel.py311.1.nbc",
    "sk_han_private/__init__.py",
    "tests/documents/test_array.py",
    "benchmarks/imdb.py",
    "examples/demo.py",
]
BUILD = "import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"


def build(kind: str, source: Path, folder: Path) -> Path:
    folder.mkdir()
    command = [sys.executable, "-c", BUILD.format(kind=kind), str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """sdist and the wheel made from it, as `make wheel` makes them, out of a folder with strays."""
    folder = tmp_path_factory.mktemp("release")
    source = folder / "source"
    for name in [*sorted(PACKAGE), "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for name in STRAY:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("secret = 1\n")
    sdist = build("sdist", source, folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return sdist, build("wheel", unpacked, folder / "wheel")


def test_the_wheel_holds_the_package_and_nothing_else(built) -> None:
    metadata = f"sk_han-{sk_han.__version__}.dist-info"
    with zipfile.ZipFile(built[1]) as archive:
        found = {name for name in archive.namelist() if not name.endswith("/")}
    assert found == PACKAGE | {f"{metadata}/{name}" for name in METADATA}


def test_the_sdist_holds_what_makes_the_wheel_and_nothing_else(built) -> None:
    top = f"sk_han-{sk_han.__version__}/"
    with tarfile.open(built[0]) as archive:
        members = archive.getmembers()
    found = {member.name.removeprefix(top) for member in members if not member.isdir()}
    assert all(member.isdir() or member.isfile() for member in members)
    assert found == PACKAGE | BESIDE | {f"sk_han.egg-info/{name}" for name in EGG_INFO}
