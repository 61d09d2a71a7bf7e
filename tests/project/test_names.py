"""Names that do not tell what they stand for become fewer: lower a limit when a count falls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sk_han

FILES = sorted(Path(sk_han.__file__).parent.rglob("*.py"))

# "counted" and "taken" say what was done, not what comes back; verbs such as "embed" do not end in
# a participle.
PARTICIPLE = re.compile(
    r"_*(?!embed$|need$|feed$|seed$|speed$)([a-z]+ed|known|kept|made|taken|\w+tten)"
)
OF = re.compile(r"_*(\w+_)?of_*")
LOCALS = {"each", "found", "given", "known", "said", "some"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def is_property(function: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def local_names(function: Function) -> set[str]:
    """Return arguments and assigned names of a function, without those of functions in it."""
    names: set[str] = set()
    nodes: list[ast.AST] = [function.args, *function.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, Function | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)
    return names


def offenders(kind: str, tree: ast.AST) -> list[str]:
    if kind == "participle":
        return [
            f.name for f in functions(tree) if PARTICIPLE.fullmatch(f.name) and not is_property(f)
        ]
    if kind == "x_of":
        return [f.name for f in functions(tree) if OF.fullmatch(f.name)]
    return [f"{f.name}: {n}" for f in functions(tree) for n in sorted(local_names(f) & LOCALS)]


@pytest.mark.parametrize(("kind", "limit"), [("participle", 2), ("x_of", 14), ("local", 25)])
def test_there_are_no_more_names_without_a_noun_or_verb(kind: str, limit: int) -> None:
    trees = {file: ast.parse(file.read_text("utf-8")) for file in FILES}
    names = [
        f"{file.name}: {name}" for file, tree in trees.items() for name in offenders(kind, tree)
    ]
    assert len(names) <= limit, "\n".join(names)


def test_an_offender_is_counted() -> None:
    tree = ast.parse("def _checked(x): pass\ndef rows_of(x):\n    found = [each for each in x]")
    assert [len(offenders(kind, tree)) for kind in ("participle", "x_of", "local")] == [1, 1, 2]
