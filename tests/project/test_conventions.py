"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import sk_han
from tests.thorough import first_fast

PACKAGE = Path(sk_han.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# A room is a module of sk_han or a package with all its modules. A room imports only rooms of the
# floors below its own, so that imports never run in circles: those inside functions and for type
# checkers count, too.
FLOORS = [
    {"lazy", "options"},
    {"utils"},
    {"documents", "kernels", "storage"},
    {"nn", "validation"},
    {"text"},
    {"datasets", "embeddings", "targets", "tokenizer"},
    {"embedder", "training"},
    {"parts", "rendering"},
    {"model"},
    {"fitting", "inspection.results"},
    {"inspection"},
    {"estimator", "serving", "tagging", "translation", "versions"},
    {"classifier", "regressor"},
    {"persistence"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}

CORE_PACKAGES = {
    "joblib",
    "numpy",
    "safetensors",
    "scipy",
    "sklearn",
    "skorch",
    "threadpoolctl",
    "torch",
}


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Name the room of a module, as "nn" of "sk_han.nn._han.HAN", without underscores."""
    inside = [re.sub("^_(?!_)", "", part) for part in module.split(".")[1:]]
    depth = 2 if ".".join(inside[:2]) in FLOOR_OF else 1
    return ".".join(inside[:depth])


def imports(node: ast.AST, *, in_functions: bool) -> Iterator[str]:
    """Dotted names that a file imports; with `in_functions` those under TYPE_CHECKING, too."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from (f"{'.' * level}{module or ''}.{alias.name}" for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if not in_functions:
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not in_functions:
                pass
            case ast.expr():  # most of a tree, and it holds no statement
                pass
            case _:
                yield from imports(child, in_functions=in_functions)


@functools.cache
def syntax_tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def run_python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def offenders(rule: Callable[[Path], Iterable[str]]) -> list[str]:
    """Return what the rule finds in each file, with the name of the file in front."""
    return [f"{file.relative_to(PACKAGE)}: {found}" for file in FILES for found in rule(file)]


# Imports


def test_every_package_has_its_layer() -> None:
    assert FLOOR_OF.keys() == {room_of(module_of(file)) for file in FILES} - {""}


def may_import(room: str, other: str) -> bool:
    return other == room or FLOOR_OF[other] < FLOOR_OF[room]


def test_packages_import_only_lower_layers() -> None:
    def upward(file: Path) -> Iterator[str]:
        room = room_of(module_of(file))
        for name in imports(syntax_tree(file), in_functions=True) if room else ():
            public = name.removeprefix("sk_han.")
            home = getattr(sk_han, public).__module__ if public in sk_han.__all__ else name
            if home.startswith("sk_han.") and not may_import(room, room_of(home)):
                yield name

    assert offenders(upward) == []


def test_the_architecture_page_shows_the_layers() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
    drawn = re.search(r"^```\n(__main__\n.+?)^```$", page, re.M | re.S)[1]
    assert [set(line.split()) for line in drawn.splitlines()] == FLOORS[::-1]


def test_only_core_dependencies_are_imported_at_top_level() -> None:
    def others(file: Path) -> set[str]:
        optional = {"numba", "llvmlite", "triton"} if "_kernels" in file.parts else set()
        if file.name == "_service.py":  # a leaf, which sk_han.serving imports when it is asked for
            optional = {"fastapi", "starlette", "uvicorn"}
        names = imports(syntax_tree(file), in_functions=False)
        third_party = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
        return third_party - {"sk_han"} - CORE_PACKAGES - optional

    assert offenders(others) == []


def test_a_missing_package_is_never_passed_over_in_silence() -> None:
    def silent(file: Path) -> Iterator[str]:
        tries = [n for n in ast.walk(syntax_tree(file)) if type(n) is ast.Try]
        for handler in (handler for n in tries for handler in n.handlers):
            caught = ast.unparse(handler.type) if handler.type else ""
            about_imports = "ImportError" in caught or "ModuleNotFoundError" in caught
            if about_imports and all(isinstance(each, ast.Pass) for each in handler.body):
                yield f"line {handler.lineno}"

    assert offenders(silent) == []


def test_imports_of_higher_layers_are_found() -> None:
    assert not may_import("nn", "training")
    assert not may_import("fitting", "classifier")
    code = "if TYPE_CHECKING:\n    import a\ndef f():\n    from b import c"
    assert list(imports(ast.parse(code), in_functions=False)) == []
    assert list(imports(ast.parse(code), in_functions=True)) == ["a", "b.c"]


HEAVY = {"joblib", "scipy", "skorch", "sklearn", "torch"}
LIGHT = {
    "the package": ("import sk_han", HEAVY | {"numpy"}),
    "tokenizer, documents and explanations": (
        "from sk_han import DocumentArray, DocumentExplanation, HierarchicalTokenizer; "
        "HierarchicalTokenizer().fit_transform(['A fine film.'])",
        {"torch", "polars"},
    ),
    "networks": ("import sk_han.nn", {"sklearn", "skorch"}),
    "a fit": ("import sk_han._fitting.fit", {"sk_han._rendering", "sk_han.inspection"}),
    "command line and pages": ("import sk_han.cli, sk_han._rendering.html", {"torch"}),
    **{
        f"{room}, which a scorer needs": (f"import sk_han.{room}", HEAVY - {"joblib"})
        for room in ("_parts", "serving", "_storage", "_targets")
    },
}


@pytest.mark.parametrize("name", first_fast(LIGHT))
def test_light_modules_import_no_heavy_package(name: str) -> None:
    code, heavy = LIGHT[name]
    run_python(f"{code}; import sys; assert not sys.modules.keys() & {heavy}")


# Public names


MODULES = {name for name in dir(sk_han) if not name.startswith("_")} - {*sk_han.__all__}


def test_public_names_resolve() -> None:
    assert [name for name in sk_han.__all__ if getattr(sk_han, name).__name__ != name] == []
    assert set(sk_han.__all__) <= set(dir(sk_han))
    with pytest.raises(AttributeError, match="'sk_han' has no attribute 'HANClasifier'") as error:
        sk_han.HANClasifier  # noqa: B018
    assert (error.value.name, error.value.obj) == ("HANClasifier", sk_han)  # Python suggests one


def names_of_the_api_page() -> list[str]:
    page = (PACKAGE.parent / "docs" / "api.md").read_text("utf-8")
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", page, re.M)


@pytest.mark.thorough
def test_modules_of_the_api_page_are_reached_from_the_package() -> None:
    page = (PACKAGE.parent / "docs" / "api.md").read_text("utf-8")
    modules = {name.partition(".")[0] for name in re.findall(r"^   ([a-z_]+\.\w+)$", page, re.M)}
    assert {"cli", "datasets", "nn", "serving"} <= modules
    # In a new process, where no other import has made a submodule an attribute.
    heavy = ("torch", "numba", "numpy", "scipy", "sklearn", "skorch")
    run_python(
        "import sys, sk_han\n"
        "def public(): return {name for name in dir(sk_han) if not name.startswith('_')}\n"
        f"shown = {{*sk_han.__all__, *{modules}}}\n"
        "assert public() == shown, public() ^ shown\n"
        f"assert not sys.modules.keys() & {{*{heavy}}}\n"
        f"for name in {modules}: assert getattr(sk_han, name).__name__ == f'sk_han.{{name}}'\n"
        "assert public() == shown, public() ^ shown"
    )


def test_public_modules_match_the_api_page() -> None:
    names = names_of_the_api_page()
    assert {name.rpartition(".")[0] for name in names} == {"", *MODULES}
    assert {name for name in names if "." not in name} == set(sk_han.__all__)


# Imports that lean on another that went before are seen in a new process alone.
@pytest.mark.thorough
@pytest.mark.parametrize("room", sorted(MODULES))
def test_a_public_module_is_imported_by_itself(room: str) -> None:
    names = [n.rpartition(".")[2] for n in names_of_the_api_page() if n.startswith(f"{room}.")]
    run_python(f"import sk_han.{room} as room\nfor name in {names}:\n    getattr(room, name)")


def test_lazily_loaded_names_appear_in_dir_before_first_use() -> None:
    run_python(
        "from sk_han import inspection as room\n"
        "assert [name for name in dir(room) if name[0] != '_'] == room.__all__, dir(room)"
    )


def module_in(file: Path) -> ModuleType:
    if file.stem == "gpu" and not find_spec("triton"):  # of PyTorch for CUDA
        return ModuleType(file.stem)
    return importlib.import_module(module_of(file))


# Documented defaults


def documented(docstring: str) -> dict[str, str]:
    """Parameters of a numpydoc docstring, each with what stands behind its colon."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", inspect.cleandoc(docstring), re.S | re.M
    )
    found: dict[str, str] = {}
    for line in section[1].splitlines() if section else []:
        if match := re.match(r"(\*{0,2}\w[\w*, ]*?)(?: :(.*))?$", line):
            names, description = match.groups(default="")
            found |= dict.fromkeys(re.split(", *", names), description)
    return found


def functions_of(module: Any) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Public functions, classes and methods of a module, each with its docstring."""
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not is_own or not callable(value):
            continue
        yield name, value, value.__doc__ or ""
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if inspect.isfunction(function) and not attribute.startswith("_"):
                    yield f"{name}.{attribute}", function, function.__doc__ or ""


def value_of(text: str, module: Any) -> Any:
    """What a documented default stands for: a literal, or a constant of the module."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return getattr(module, text)


def wrong_defaults(module: Any) -> list[str]:
    """Documented defaults that are not those of the signature."""
    wrong = []
    for name, function, docstring in functions_of(module):
        for parameter, description in documented(docstring).items():
            if match := re.search(r"\bdefault=(.+)$", description):
                given = inspect.signature(function).parameters.get(parameter)
                if given is None:
                    wrong.append(f"{name}: {parameter} is documented, but not taken")
                    continue
                value = value_of(match[1], module)
                if given.default != value or type(given.default) is not type(value):
                    wrong.append(f"{name}: {parameter} is documented as {match[1]}: {given}")
    return wrong


def test_the_documented_default_is_the_default() -> None:
    assert offenders(lambda file: wrong_defaults(module_in(file))) == []


def test_a_wrong_default_is_found() -> None:
    def drifted(a=1, b=None, c=0.0):  # type: ignore[no-untyped-def]
        """Say little.

        Parameters
        ----------
        a, b : int or None, default=None
        c, d : float, default=0
            A description with default=3 in it.
        """

    module = type(sys)("drifting")
    drifted.__module__ = "drifting"
    module.drifted = drifted
    assert [message.split()[1] for message in wrong_defaults(module)] == ["a", "c", "d"]


# Estimators

ESTIMATORS = [
    value
    for value in (getattr(sk_han, name, None) for name in sk_han.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


@each_estimator
def test_constructors_only_store_documented_and_constrained_parameters(
    estimator: type,
) -> None:
    parameters, described = inspect.signature(estimator).parameters, documented(estimator.__doc__)
    assert list(described) == list(parameters)
    assert estimator._parameter_constraints.keys() == parameters.keys()
    has_default = [name for name, text in described.items() if "default=" in text]
    assert has_default == [name for name, p in parameters.items() if p.default is not p.empty]
    # As scikit-learn's own do, one that wraps another object takes that one by position.
    by_name = list(parameters.values())[estimator.__name__ == "SentenceEmbedder" :]
    assert {parameter.kind for parameter in by_name} == {inspect.Parameter.KEYWORD_ONLY}
    source = inspect.cleandoc("\n" + inspect.getsource(estimator.__init__))
    stored = [ast.unparse(statement) for statement in ast.parse(source).body[0].body]
    assert stored == [f"self.{name} = {name}" for name in parameters]
