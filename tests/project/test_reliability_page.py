"""The page "What you can rely on" names tests that exist."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[^`]+)`", PAGE)))


@functools.cache
def names_in(file):
    """Names below a test file: of its test functions, of its classes, and of the tests of these."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) if name.startswith("test_"):
                names.add(name)
            case ast.ClassDef(name=name, body=body) if name.startswith("Test"):
                methods = {each.name for each in body if isinstance(each, ast.FunctionDef)}
                tests = {method for method in methods if method.startswith("test_")}
                names |= {f"{name}::{test}" for test in tests} | ({name} if tests else set())
    return names


def test_promises_name_tests():
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and "held by" not in line]
    assert lines
    assert not [line for line in lines if "`tests/" not in line]


def exists(named):
    path, _, test = named.partition("::")
    names = names_in(ROOT / path) if (ROOT / path).is_file() else set()
    return test in names if test else bool(names)


def test_named_tests_exist():
    assert NAMED
    assert [named for named in NAMED if not exists(named)] == []


def test_a_test_that_does_not_exist_would_be_found():
    here = "tests/project/test_reliability_page.py"
    assert exists(f"{here}::test_named_tests_exist")
    assert not exists(f"{here}::test_nothing")
    assert exists(here)
    assert not exists("tests/test_nothing.py::test_named_tests_exist")
    assert not exists("tests/test_nothing.py")
    assert not exists("tests/tiny_models.py")
