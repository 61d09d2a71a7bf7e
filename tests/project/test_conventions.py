"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Set
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

# A room is a module of sk_han or a package with all its modules; those with a dot in their name are
# inside of another. A room imports only rooms of the floors below its own, so that imports never
# run in circles: those inside functions and for type checkers count, too. docs/architecture.md
# draws the same floors.
FLOORS = [
    {"datasets", "options", "utils"},
    {"documents", "engines", "storage"},
    {"nn", "targets", "text", "validation"},
    {"embeddings", "tokenizer", "training"},
    {"parts", "rendering"},
    {
        "inspection",
        "inspection.faithfulness",
        "inspection.methods",
        "inspection.results",
        "inspection.terms",
        "sentence_vectors",
    },
    {"fitting", "serving"},
    {"classifier", "tagging", "translation", "versions"},
    {"cli", "distributed", "persistence"},
    {"__main__"},
]
# Rooms of one floor may import each other in one direction only.
ON_ONE_FLOOR = {
    ("cli", "persistence"),
    ("distributed", "persistence"),
    ("fitting", "serving"),
    ("inspection", "inspection.methods"),
    ("inspection", "inspection.results"),
    ("inspection", "inspection.terms"),
    ("inspection", "sentence_vectors"),
    ("inspection.faithfulness", "inspection"),
    ("inspection.faithfulness", "inspection.methods"),
    ("inspection.faithfulness", "inspection.results"),
    ("inspection.methods", "inspection.results"),
    ("inspection.terms", "inspection.methods"),
    ("inspection.terms", "inspection.results"),
    ("targets", "validation"),
    ("utils", "options"),
}
FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}

CORE_PACKAGES = {"joblib", "numpy", "scipy", "sklearn", "skorch", "threadpoolctl", "torch"}
WITH_TORCH = {
    "classifier",
    "fitting",
    "inspection",
    "inspection.faithfulness",
    "nn",
    "parts",
    "persistence",
    "sentence_vectors",
    "tagging",
    "targets",
    "training",
    "translation",
    "versions",
}
WITH_SKORCH = {"training", "utils"}
# Modules of compiled kernels; the loader imports them.
KERNELS = [
    file
    for file in sorted((PACKAGE / "engines" / "kernels").rglob("*.py"))
    if file.stem != "__init__"
]

# The networks of the classifier's siblings, over the layers of nn.
NETWORKS = {
    "sentence_vectors": ["network"],
    "tagging": ["chain", "network"],
    "translation": ["decoder", "network", "search"],
}

# Walls: of a file, and of a function without docstring, comments and blank lines. What is beyond
# them is listed with its size, and may only shrink.
MOST_LINES = 500
LONG_FILES = {
    "sk_han.classifier": 649,
}
MOST_STATEMENT_LINES = 60
LONG_KERNELS = {
    "sk_han.engines.kernels.gru_recurrence.backward": 95,
    "sk_han.engines.kernels.ngrams.scores": 67,
}
LONG_FUNCTIONS = {
    "sk_han.translation.decoder.DecoderFunction.backward": 68,
}
# Base names of files that occur in more than one room, each with its reason.
SHARED_NAMES = {
    "attention.py": "a layer, and the kernel that computes it",
    "context.py": "FitContext of a fit, and ContextAttention",
    "fit.py": "of the tagger and the translator, each whole in its room",
    "network.py": "of each estimator, its options, its ONNX graph, its twin in NumPy",
    "ngrams.py": "a kernel, and the operators of ONNX for the same",
    "summary.py": "what a fit has come to, and what a model says over many documents",
    "training.py": "of each estimator's network: batches, and a loss",
}
# Those without a good one, to be renamed; the list may only shrink.
SHARED_UNTIL_RENAMED = {
    "alignment.py",
    "base.py",
    "files.py",
    "history.py",
    "progress.py",
    "scoring.py",
    "sentences.py",
    "tables.py",
}


def room_of_module(module: str) -> str:
    """Name the room of a module, as "nn" of "sk_han.nn.han.HAN"."""
    inside = module.split(".")[1:]
    depth = 2 if ".".join(inside[:2]) in FLOOR_OF else 1
    return ".".join(inside[:depth])


def room_of(file: Path) -> str:
    return room_of_module(module_of(file))


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(node: ast.AST, *, in_functions: bool, for_checkers: bool = False) -> Iterator[str]:
    """Dotted names that a file imports; with `for_checkers` those under TYPE_CHECKING, too."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from (f"{'.' * level}{module or ''}.{alias.name}" for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if not for_checkers:
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not in_functions:
                pass
            case ast.expr():  # most of a tree, and it holds no statement
                pass
            case _:
                yield from imports(child, in_functions=in_functions, for_checkers=for_checkers)


@functools.cache
def syntax_tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@functools.cache
def imported_by(file: Path, *, in_functions: bool, for_checkers: bool = False) -> frozenset[str]:
    tree = syntax_tree(file)
    return frozenset(imports(tree, in_functions=in_functions, for_checkers=for_checkers))


def packages(names: Set[str]) -> set[str]:
    """Third-party packages among imported names."""
    found = {name.partition(".")[0] for name in names}
    return found - sys.stdlib_module_names - {"sk_han"}


def run_python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def offenders(rule: Callable[[Path], Iterable[str]], files: list[Path] = FILES) -> list[str]:
    """Return what the rule finds in each file, with the name of the file in front."""
    root = PACKAGE if all(file.is_relative_to(PACKAGE) for file in files) else PACKAGE.parent
    return [f"{file.relative_to(root)}: {found}" for file in files for found in rule(file)]


# Imports


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(file) for file in FILES} - {""}
    missing, gone = sorted(rooms - FLOOR_OF.keys()), sorted(FLOOR_OF.keys() - rooms)
    assert not missing, f"Give {missing} a line in FLOORS of {Path(__file__).name}."
    assert not gone, f"Take {gone} out of FLOORS of {Path(__file__).name}."


def may_import(room: str, other: str) -> bool:
    own, below = FLOOR_OF.get(room, -1), FLOOR_OF.get(other, len(FLOORS))
    return other == room or below < own or (room, other) in ON_ONE_FLOOR


@functools.cache
def arrows() -> dict[tuple[str, str], dict[Path, str]]:
    """From which room to which imports lead, wherever they stand: files, and a name of each."""
    found: dict[tuple[str, str], dict[Path, str]] = {}
    for file in FILES:
        if file == PACKAGE / "__init__.py":  # below everything: it imports lazily
            continue
        for name in sorted(imported_by(file, in_functions=True, for_checkers=True)):
            public = name.removeprefix("sk_han.")
            home = sk_han._MODULE_OF.get(public, name)
            if home.startswith("sk_han.") and room_of_module(home) != room_of(file):
                found.setdefault((room_of(file), room_of_module(home)), {})[file] = name
    return found


def test_imports_run_downwards_wherever_they_stand() -> None:
    upward = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for pair, files in sorted(arrows().items())
        for file, name in files.items()
        if not may_import(*pair)
    ]
    advice = "Not below it in FLOORS: move what both need down, or hand it in as a value."
    assert not upward, "\n".join([advice, *upward])


def test_rooms_of_one_floor_import_each_other_in_one_direction() -> None:
    assert all(FLOOR_OF[room] == FLOOR_OF[other] for room, other in ON_ONE_FLOOR)
    along: dict[str, set[str]] = {}
    for room, other in ON_ONE_FLOOR:
        along.setdefault(room, set()).add(other)
    graphlib.TopologicalSorter(along).prepare()  # raises CycleError with the rooms
    assert not ON_ONE_FLOOR - arrows().keys(), "No file needs these: take them out."


def test_only_core_dependencies_are_imported_at_top_level() -> None:
    def others(file: Path) -> Set[str]:
        optional = {"numba", "llvmlite", "triton"} if file in KERNELS else set()
        return packages(imported_by(file, in_functions=False)) - CORE_PACKAGES - optional

    assert offenders(others) == []


def test_torch_and_skorch_stay_in_their_rooms() -> None:
    def strangers(file: Path) -> Iterator[str]:
        found, room = packages(imported_by(file, in_functions=True)), room_of(file)
        yield from {"torch"} & found if room not in WITH_TORCH else ()
        yield from {"skorch"} & found if room not in WITH_SKORCH else ()

    assert offenders(strangers) == []


def files_of(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


def networks_of(room: str) -> list[Path]:
    return [PACKAGE / room / f"{name}.py" for name in NETWORKS[room]]


LAYERS = ("sk_han.nn.", "sk_han.options.")


@pytest.mark.parametrize(
    ("files", "third_party", "known"),
    [
        (files_of("options"), {"numpy"}, ("sk_han.options.",)),
        (
            files_of("nn"),
            {"numpy", "torch"},
            (*LAYERS, "sk_han.engines.", "sk_han.utils.caching."),
        ),
        *(
            (
                networks_of(room),
                {"numpy", "torch"},
                (*LAYERS, *(f"sk_han.{room}.{name}." for name in NETWORKS[room])),
            )
            for room in NETWORKS
        ),
    ],
    ids=["options", "layers", *NETWORKS],
)
def test_options_layers_and_networks_know_no_more_than_they_need(
    files: list[Path], third_party: set[str], known: tuple[str, ...]
) -> None:
    def strangers(file: Path) -> Iterator[str]:
        names = imported_by(file, in_functions=True)
        yield from packages(names) - third_party
        yield from (n for n in names if n.startswith("sk_han") and not n.startswith(known))

    assert offenders(strangers, files) == []


def test_the_core_does_not_know_the_siblings_of_the_classifier() -> None:
    def named(file: Path) -> list[str]:
        names = r"(?i)\b(?:\w+_|sequence|attention)?(?:tagg|translat)(?:er|or|ing|ion)\b"
        return re.findall(names, file.read_text("utf-8"))

    # persistence.loading lists what files may hold.
    siblings = {"", "persistence", "tagging", "translation"}
    assert offenders(named, [file for file in FILES if room_of(file) not in siblings]) == []


def test_compiled_kernels_are_imported_by_their_loader_alone() -> None:
    names = {module_of(file) for file in KERNELS}

    def direct(file: Path) -> Iterator[str]:
        found = imported_by(file, in_functions=True)
        yield from (n for n in found if n in names or n.rpartition(".")[0] in names)

    assert offenders(direct, [file for file in FILES if file not in KERNELS]) == []


def test_private_names_of_scikit_learn_are_imported_in_one_place() -> None:
    def private(file: Path) -> Iterator[str]:
        if file != PACKAGE / "utils" / "compat.py":
            names = imported_by(file, in_functions=True)
            yield from (name for name in names if re.match(r"(sklearn|skorch)\b.*\._", name))

    assert offenders(private) == []


def test_private_names_stay_in_their_file() -> None:
    def private(file: Path) -> Iterator[str]:
        names = imported_by(file, in_functions=True)
        yield from (name for name in names if re.match(r"sk_han\b.*\._[a-z]", name))

    assert offenders(private, [*FILES, *(PACKAGE.parent / "benchmarks").glob("*.py")]) == []


def test_a_missing_package_is_never_passed_over_in_silence() -> None:
    def silent(file: Path) -> Iterator[str]:
        tries = [n for n in ast.walk(syntax_tree(file)) if type(n) is ast.Try]
        for handler in (handler for n in tries for handler in n.handlers):
            caught = ast.unparse(handler.type) if handler.type else ""
            about_imports = "ImportError" in caught or "ModuleNotFoundError" in caught
            if about_imports and all(isinstance(each, ast.Pass) for each in handler.body):
                yield f"line {handler.lineno}"

    assert offenders(silent) == []


def test_an_offender_would_be_found() -> None:
    assert not may_import("nn", "training")
    assert not may_import("fitting", "classifier")
    code = "if TYPE_CHECKING:\n    import a\ndef f():\n    from b import c"
    assert list(imports(ast.parse(code), in_functions=False)) == []
    assert list(imports(ast.parse(code), in_functions=True, for_checkers=True)) == ["a", "b.c"]
    assert offenders(lambda file: ["found"], FILES[:1]) == [f"{FILES[0].name}: found"]


HEAVY = {"joblib", "scipy", "skorch", "sklearn", "torch"}
ON_GPU = PACKAGE / "engines" / "kernels" / "gpu_recurrence.py"  # needs Triton, of PyTorch for CUDA
WITHOUT_TORCH = [
    module_of(file) for file in FILES if room_of(file) not in WITH_TORCH and file != ON_GPU
]
LIGHT = {
    "the package": ("import sk_han", HEAVY | {"numpy"}),
    "tokenizer, documents and explanations": (
        "from sk_han import DocumentArray, DocumentExplanation, HierarchicalTokenizer; "
        "HierarchicalTokenizer().fit_transform(['A fine film.'])",
        {"torch", "polars"},
    ),
    "rooms without torch": (
        f"import importlib; [importlib.import_module(m) for m in {WITHOUT_TORCH}]",
        {"torch"},
    ),
    **{
        f"{room}, which a scorer needs": (f"import sk_han.{room}", HEAVY - {"joblib"})
        for room in ("parts", "serving", "storage", "targets")
    },
}


@pytest.mark.parametrize("name", first_fast(LIGHT))
def test_no_heavy_package_is_loaded_through_others(name: str) -> None:
    code, heavy = LIGHT[name]
    run_python(f"{code}; import sys; assert not sys.modules.keys() & {heavy}")


# Public names


def test_public_names_resolve() -> None:
    assert [name for name in sk_han.__all__ if getattr(sk_han, name).__name__ != name] == []
    assert set(sk_han.__all__) <= set(dir(sk_han))


def names_of_the_api_page() -> list[str]:
    page = (PACKAGE.parent / "docs" / "api.md").read_text("utf-8")
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", page, re.M)


@pytest.mark.thorough
def test_names_of_the_api_page_resolve() -> None:
    names = names_of_the_api_page()
    assert len(names) > len(sk_han.__all__)
    # In a new process, where no other import has made a submodule an attribute.
    run_python(
        f"import sk_han; from operator import attrgetter\n"
        f"for name in {names}:\n"
        f"    attrgetter(name)(sk_han)\n"
        f"    assert name.partition('.')[0] in dir(sk_han), name"
    )


@pytest.mark.thorough
def test_modules_of_the_api_page_are_reached_from_the_package() -> None:
    page = (PACKAGE.parent / "docs" / "api.md").read_text("utf-8")
    modules = {name.partition(".")[0] for name in re.findall(r"^   ([a-z_]+\.\w+)$", page, re.M)}
    assert {"documents", "cli", "datasets", "nn", "serving"} <= modules
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


def test_public_modules_are_the_rooms_of_the_api_page() -> None:
    assert {name.rpartition(".")[0] for name in names_of_the_api_page()} == {"", *sk_han._MODULES}


# Imports that lean on another that went before are seen in a new process alone.
@pytest.mark.thorough
@pytest.mark.parametrize("room", sorted(sk_han._MODULES))
def test_a_public_module_is_imported_by_itself(room: str) -> None:
    names = [n.rpartition(".")[2] for n in names_of_the_api_page() if n.startswith(f"{room}.")]
    run_python(f"import sk_han.{room} as room\nfor name in {names}:\n    getattr(room, name)")


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'sk_han' has no attribute 'HANRegressor'"):
        sk_han.HANRegressor  # noqa: B018


def module_in(file: Path) -> ModuleType:
    if file == ON_GPU and not find_spec("triton"):
        return ModuleType(file.stem)
    return importlib.import_module(module_of(file))


def test_names_in_all_exist() -> None:
    def missing(file: Path) -> Iterator[str]:
        module = module_in(file)
        yield from (name for name in getattr(module, "__all__", []) if not hasattr(module, name))

    assert offenders(missing) == []


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


def test_a_wrong_default_would_be_found() -> None:
    def drifted(a=1, b=None, c="x", d=0.0, e=True):  # type: ignore[no-untyped-def]
        """Say little.

        Parameters
        ----------
        a : int, default=2
        b : int or None, default=None
        c, d : {"x", "y"} or \
float, default="x"
        e : bool, default=1
            A description with default=3 in it.
        f : int, default=5

        Returns
        -------
        g : int, default=7
        """

    module = type(sys)("drifting")
    drifted.__module__ = "drifting"
    module.drifted = drifted
    assert [message.split()[1] for message in wrong_defaults(module)] == ["a", "d", "e", "f"]


# Estimators

ESTIMATORS = [
    value
    for value in (getattr(sk_han, name, None) for name in sk_han.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def constructor_parameters(estimator: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(estimator).parameters)


def test_there_are_estimators() -> None:
    assert {estimator.__name__ for estimator in ESTIMATORS} >= {
        "HANClassifier",
        "HierarchicalTokenizer",
    }


@each_estimator
def test_constructor_parameters_are_keyword_only(estimator: type) -> None:
    parameters = list(constructor_parameters(estimator).values())
    # As scikit-learn's own do, one that wraps another object takes that one by position.
    kinds = {p.kind for p in parameters[estimator.__name__ == "SentenceEmbedder" :]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


@each_estimator
def test_constructor_parameters_are_documented_in_order(estimator: type) -> None:
    assert list(documented(estimator.__doc__)) == list(constructor_parameters(estimator))


@each_estimator
def test_constructor_parameters_have_documented_defaults(estimator: type) -> None:
    for parameter, description in documented(estimator.__doc__).items():
        assert "default=" in description, parameter


@each_estimator
def test_constructor_parameters_have_constraints(estimator: type) -> None:
    assert list(estimator._parameter_constraints) == list(constructor_parameters(estimator))


@each_estimator
def test_constructor_only_stores(estimator: type) -> None:
    source = inspect.cleandoc("\n" + inspect.getsource(estimator.__init__))
    body = ast.parse(source).body[0].body
    expected = [f"self.{name} = {name}" for name in constructor_parameters(estimator)]
    assert [ast.unparse(statement) for statement in body] == expected


# Files


def walls(sizes: dict[str, int], most: int, beyond: dict[str, int]) -> list[str]:
    """Say what is longer than it may be, and which exceptions are no longer needed."""
    longer = [f"{n} lines: {name}" for name, n in sizes.items() if n > beyond.get(name, most)]
    needed = {name for name, n in sizes.items() if n > most}
    return longer + [f"take it out of the exceptions: {name}" for name in beyond.keys() - needed]


def statement_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Count the lines of a function's body without its docstring, comments and blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    numbers = {n for each in body for n in range(each.lineno, (each.end_lineno or 0) + 1)}
    code = (lines[n - 1].strip() for n in numbers)
    return sum(bool(line) and not line.startswith("#") for line in code)


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Any]]:
    """Functions within a syntax tree, but for constructors, with their names."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}.{getattr(child, 'name', '')}".rstrip(".")
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name != "__init__":
            yield name, child
        yield from functions(child, name)


def test_no_file_is_a_thousand_rooms() -> None:
    sizes = {module_of(file): len(file.read_text("utf-8").splitlines()) for file in FILES}
    found = walls(sizes, MOST_LINES, LONG_FILES)
    assert not found, "\n".join(found)


def test_no_function_is_a_whole_story() -> None:
    sizes = {}
    for file in FILES:
        lines = file.read_text("utf-8").splitlines()
        for name, function in functions(syntax_tree(file), module_of(file)):
            sizes[name] = statement_lines(function, lines)
    assert sizes["sk_han.classifier.HANClassifier.fit"] > 0
    found = walls(sizes, MOST_STATEMENT_LINES, LONG_KERNELS | LONG_FUNCTIONS)
    assert not found, "\n".join(found)


def test_what_is_too_long_would_be_found() -> None:
    assert walls({"a": 3, "b": 5, "c": 7}, 4, {"c": 6}) == ["5 lines: b", "7 lines: c"]
    assert walls({"a": 3}, 4, {"a": 6}) == ["take it out of the exceptions: a"]
    code = 'class A:\n    def f(self):\n        """Say."""\n        # Why.\n\n        return (\n1)'
    ((name, function),) = functions(ast.parse(code), "a")
    assert (name, statement_lines(function, code.splitlines())) == ("a.A.f", 2)


def test_a_name_in_two_rooms_has_its_reason() -> None:
    rooms: dict[str, set[str]] = {}
    for file in FILES:
        if file.stem not in {"__init__", "__main__"}:
            rooms.setdefault(file.name, set()).add(room_of(file).partition(".")[0])
    shared = {name for name, those in rooms.items() if len(those) > 1}
    listed = SHARED_NAMES.keys() | SHARED_UNTIL_RENAMED
    new = {name: sorted(rooms[name]) for name in sorted(shared - listed)}
    assert not new, f"Give these other names, or SHARED_NAMES a reason: {new}"
    assert not listed - shared, f"In one room now, take them out: {sorted(listed - shared)}"
    assert not SHARED_NAMES.keys() & SHARED_UNTIL_RENAMED


def test_what_is_left_to_do_has_an_issue() -> None:
    def without_number(file: Path) -> Iterator[str]:
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line) and not re.search(r"#\d+", line):
                yield f"line {number}: {line.strip()}"

    assert offenders(without_number) == []
