import gc
import importlib.util
import re
import sys

import numpy as np
import pytest

from sk_han.datasets import load_docstrings

LONG = "Compute what the words of this long enough sentence say " * 3
SOURCE = f'''
class Model:
    """Fit a model. {LONG}"""

    def fit(self):
        """Fit it. {LONG}"""

    def _private(self):
        """Hide it. {LONG}"""

def measure():
    """Measure it with tool_box, Tool_Box.measure or ntool_boxes. {LONG}"""
    def inner():
        """Do a part. {LONG}"""

async def later():
    """Measure it later. {LONG}"""

def short():
    """Too short."""
'''


@pytest.fixture
def tool_box(tmp_path, monkeypatch):
    """Lay out a package that can be imported, and raises where it is."""
    folder = tmp_path / "tool_box"
    (folder / "inner").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "_hidden").mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('it was imported')\n")
    (folder / "models.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def texts_of():
    return load_docstrings(packages=["tool_box"]).data


# What is read


def test_classes_methods_and_functions_are_read_in_the_order_of_the_file(tool_box):
    found = load_docstrings(packages=["tool_box"])
    assert found.target.tolist() == ["tool_box"] * 4
    assert found.target_names == ["tool_box"]
    names = ["Model", "Model.fit", "measure", "later"]
    assert found.names == [f"tool_box.models.{name}" for name in names]
    assert found.groups.tolist() == ["tool_box.models"] * 4
    assert "tool_box: 4 texts" in found.DESCR


def test_nothing_is_imported(tool_box):
    texts_of()
    assert "tool_box" not in sys.modules


def test_a_module_of_one_file_is_a_package_too(tmp_path, monkeypatch):
    (tmp_path / "lonely_tool.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = load_docstrings(packages=["lonely_tool"])
    assert found.names[0] == "lonely_tool.Model"
    assert set(found.target.tolist()) == {"lonely_tool"}


@pytest.mark.parametrize("folder", ["tests", "_hidden"])
def test_tests_and_private_folders_are_left_out(tool_box, folder):
    (tool_box / folder / "more.py").write_text(f'def check():\n    """Check it. {LONG}"""\n')
    assert len(texts_of()) == 4


def test_equal_texts_are_taken_once(tool_box):
    (tool_box / "inner" / "again.py").write_text(SOURCE)
    assert len(texts_of()) == 4


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"def broken(:\n",
        b"\xff\xfe nothing \x00",
        b'# coding: no-such-encoding\n"""text"""',
        b'def latin():\n    """caf\xe9"""\n',
        b"(" * 300,
    ],
)
def test_files_that_are_no_python_are_passed_over(tool_box, content):
    (tool_box / "aaa.py").write_bytes(content)
    assert len(texts_of()) == 4


def test_files_of_a_declared_encoding_are_read(tool_box):
    text = f'# coding: latin-1\ndef latin():\n    """Drink café. {LONG}"""\n'
    (tool_box / "aaa.py").write_bytes(text.encode("latin-1"))
    assert "café" in texts_of()[0]


def test_halves_of_characters_are_left_out(tool_box):
    (tool_box / "aaa.py").write_text(f'def half():\n    "Half \\ud800 {LONG}"\n')
    assert texts_of()[0].startswith("Half  Compute")


def test_lengths_are_limited(tool_box):
    (tool_box / "aaa.py").write_text(f'def long():\n    """{LONG * 40}"""\n')
    lengths = [len(text.split()) for text in texts_of()]
    assert len(lengths) == 4
    assert all(20 <= length <= 1000 for length in lengths)


def test_garbage_is_collected_again(tool_box):
    texts_of()
    assert gc.isenabled()


# Names


def test_the_name_of_the_package_is_masked_in_longer_words_too(tool_box):
    assert texts_of()[2].startswith(
        "Measure it with package, package.measure or package. Compute what"
    )


@pytest.fixture(scope="module")
def usual():
    return load_docstrings(packages=["numpy", "sklearn"])


@pytest.mark.thorough
def test_names_of_all_the_packages_are_masked(usual):
    joined = "\n".join(usual.data).lower()
    for name in ["numpy", "sklearn", "scikit"]:
        assert name not in joined
    assert not re.search(r"\bnp\b", joined)
    assert usual.target_names == ["numpy", "sklearn"]


@pytest.mark.thorough
def test_the_order_is_always_the_same(usual):
    again = load_docstrings(packages=["numpy", "sklearn"])
    assert again.data == usual.data
    np.testing.assert_array_equal(again.target, usual.target)
    assert len(set(usual.data)) == len(usual.data) > 1000


# What is not there


@pytest.mark.thorough
def test_usual_packages_that_are_absent_are_left_out(monkeypatch):
    find_spec = importlib.util.find_spec
    absent = {"torch", "scipy", "sklearn"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else find_spec(name)
    )
    assert load_docstrings().target_names == ["numpy", "python"]


@pytest.mark.parametrize("name", ["no_such_tool", "tool_box.models", "no such"])
def test_a_named_package_that_is_absent_is_an_error(tool_box, name):
    with pytest.raises(ModuleNotFoundError, match=r"No sources of .* are installed"):
        load_docstrings(packages=[name])
    assert "tool_box" not in sys.modules


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        ("numpy", r"\['numpy'\]"),
        (["tool_box"], "No documentation of 20 to 1,000 words"),
        ([], "packages is empty"),
    ],
)
def test_invalid_packages_are_refused(tool_box, packages, message):
    (tool_box / "models.py").write_text("")
    with pytest.raises(ValueError, match=message):
        load_docstrings(packages=packages)
