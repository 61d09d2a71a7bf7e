"""Real texts that every machine has: the documentation inside of installed packages."""

from __future__ import annotations

import ast
import gc
import importlib.metadata
import importlib.util
import inspect
import os
import platform
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sklearn.utils import Bunch

# Importable name -> the distribution whose version is told.
_USUAL = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "torch": "torch"}
_STANDARD_LIBRARY = "python"

# What a package is called in texts besides its own name: inside of words, and alone.
_NICKNAMES = {"sklearn": "scikit"}
_ABBREVIATIONS = {"numpy": r"\bnp\b|\bnpt\b", "scipy": r"\bsp(?=\.)"}
_MASK = "package"
_FEWEST_WORDS, _MOST_WORDS = 20, 1_000

# Folders that are not a package's own documentation; in those with an underscore there is little
# for users, but for NumPy's core.
_LEFT_OUT = {
    *("test", "tests", "externals", "third_party", "vendor"),
    *("dist-packages", "idlelib", "lib2to3", "site-packages"),
}
_PRIVATE_BUT_TAKEN = "_core"

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class _Docstring(NamedTuple):
    """The documentation of a function or class."""

    name: str  # such as sklearn.linear_model._ridge.Ridge.fit
    group: str  # the file it is from, as a module
    text: str


def load_docstrings(*, packages: Sequence[str] | None = None) -> Bunch:
    """Load the documentation of functions and classes of installed packages: real text, offline.

    Source files are read and not imported, so no code of theirs runs. Nothing is downloaded or
    written.

    Parameters
    ----------
    packages : sequence of str, default=None
        Names to import, of packages whose sources are installed; "python" is the standard library.
        None takes those of "numpy", "scipy", "sklearn", "torch" and "python" that are there.

    Returns
    -------
    bunch : Bunch
        ``data`` is the list of texts of 20 to 1,000 words, ``target`` an ndarray of the packages
        that they are from (strings), whose names they do not contain, ``target_names`` the sorted
        list of these, ``names`` a list of what each text documents, such as
        ``"sklearn.linear_model._ridge.Ridge.fit"``, ``groups`` an ndarray of the modules they are
        from, and ``DESCR`` says which versions were read.

    Raises
    ------
    ModuleNotFoundError
        If a package of `packages` is not installed.
    ValueError
        If `packages` is a string or empty, or no text is found.

    Notes
    -----
    The same versions of the packages give the same texts in the same order: by package as given,
    file and line. Of equal texts the first one is taken. Names of the packages, parts of longer
    words too, are replaced by "package". Files that are no Python are passed over. All five
    packages take some seconds.

    Functions of one file often share sentences: `groups` keeps a file together in
    `sklearn.model_selection.GroupShuffleSplit`.

    Examples
    --------
    >>> from sk_han.datasets import load_docstrings
    >>> docstrings = load_docstrings(packages=["joblib"])
    >>> docstrings.target_names
    ['joblib']
    """
    from sklearn.utils import Bunch  # loading of files does without it

    roots = _roots(packages)
    names = _names_of(roots)
    found: dict[str, tuple[_Docstring, str]] = {}  # by text, in the order of reading
    with _no_garbage_collection():
        for package, root in roots.items():
            for docstring in _docstrings(package, root):
                if _FEWEST_WORDS <= len(docstring.text.split()) <= _MOST_WORDS:
                    found.setdefault(names.sub(_MASK, docstring.text), (docstring, package))
    if not found:
        raise ValueError(
            f"No documentation of {_FEWEST_WORDS} to {_MOST_WORDS:,} words in the sources of "
            f"{', '.join(roots)}. Name other packages."
        )
    documented = [docstring for docstring, _ in found.values()]
    by_package = [package for _, package in found.values()]
    return Bunch(
        data=list(found),
        target=np.array(by_package),
        target_names=sorted(set(by_package)),
        names=[docstring.name for docstring in documented],
        groups=np.array([docstring.group for docstring in documented]),
        DESCR=_description(Counter(by_package)),
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Read in half the time: trees of sources have no cycles, and millions of nodes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _roots(packages: Sequence[str] | None) -> dict[str, Path]:
    """Return the folder or file of each package; of the usual ones those that are installed."""
    if isinstance(packages, str):
        raise ValueError(f"packages must be a list of names; got {packages!r}: [{packages!r}]?")
    if packages is not None and not len(packages):
        raise ValueError("packages is empty. Name some, or leave it out to take what is there.")
    wanted = [*_USUAL, _STANDARD_LIBRARY] if packages is None else list(packages)
    roots = {name: root for name in wanted if (root := _root(name)) is not None}
    missing = [name for name in wanted if name not in roots]
    if missing and packages is not None:
        raise ModuleNotFoundError(
            f"No sources of {', '.join(missing)} are installed. Install them, or leave packages "
            "out to take what is there.",
            name=missing[0],
        )
    return roots


def _root(package: str) -> Path | None:
    if package == _STANDARD_LIBRARY:
        return Path(sysconfig.get_path("stdlib"))
    if not package.isidentifier():  # find_spec imports what stands before a dot
        return None
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module that was made by hand
        return None
    if spec is None:
        return None
    places = list(spec.submodule_search_locations or [spec.origin or ""])
    return next((Path(place) for place in places if os.path.exists(place)), None)


def _names_of(packages: Iterable[str]) -> re.Pattern[str]:
    """Return what finds the words that contain the name of a package."""
    inside: list[str] = []
    alone: list[str] = []
    for package in packages:
        inside += [re.escape(package), *filter(None, [_NICKNAMES.get(package)])]
        alone += filter(None, [_ABBREVIATIONS.get(package)])
    words = rf"(?<![\w-])[\w-]*(?:{'|'.join(inside)})[\w-]*"
    return re.compile("|".join([words, *alone]), re.IGNORECASE)


def _docstrings(package: str, root: Path) -> Iterator[_Docstring]:
    """Yield the documentation of public functions and classes, by file and line."""
    for path in _sources(root):
        parts = path.relative_to(root).with_suffix("").parts if path != root else ()
        if parts[-1:] == ("__init__",):
            parts = parts[:-1]
        module = ".".join((package, *parts))
        yield from _documented(_parsed(path), module, module)


def _sources(root: Path) -> Iterator[Path]:
    """Yield the Python files of a package that users know, in an order that is always the same."""
    if root.is_file():
        yield root
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_taken(name))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _is_taken(folder: str) -> bool:
    private = folder.startswith("_") and folder != _PRIVATE_BUT_TAKEN
    return not private and folder not in _LEFT_OUT


def _parsed(path: Path) -> ast.Module:
    """Return the tree of a file, an empty one if it cannot be read as Python."""
    try:
        source = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of doubtful escapes in other people's strings
            return ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _documented(
    parent: ast.Module | ast.ClassDef, prefix: str, module: str
) -> Iterator[_Docstring]:
    for node in parent.body:
        if not isinstance(node, _DEFINITIONS) or node.name.startswith("_"):
            continue
        name, text = f"{prefix}.{node.name}", _text_of(node)
        if text:
            yield _Docstring(name, module, text)
        if isinstance(node, ast.ClassDef):
            yield from _documented(node, name, module)


def _text_of(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node, clean=False) or ""
    # An escape may write half of a character, which is no text.
    return inspect.cleandoc(text.encode("utf-8", "ignore").decode("utf-8")).strip()


def _description(counts: Counter[str]) -> str:
    """Return what was read, as lines of text."""
    lines = [f"- {_with_version(name)}: {count:,} texts" for name, count in counts.items()]
    return "\n".join(
        [
            "Documentation of public functions, classes and methods, read from installed sources.",
            f"{sum(counts.values()):,} different texts of {_FEWEST_WORDS} to {_MOST_WORDS:,} "
            f'words, with the names of the packages replaced by "{_MASK}":',
            *lines,
            "The texts are under the licences of their packages.",
        ]
    )


def _with_version(package: str) -> str:
    if package == _STANDARD_LIBRARY:
        return f"Python {platform.python_version()}, standard library"
    try:
        distribution = _USUAL.get(package, package)
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return package
