"""How much of the tests goes through public modules: ``python -m tests.public_imports [--files]``.

Prints the share of code lines of tests in files that import nothing of sk_han but its public
modules and what those export; a patch of a private module by its name counts as an import of it.
``--files`` lists the other files.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "sk_han"
PUBLIC = {
    "sk_han",
    "sk_han.cli",
    "sk_han.datasets",
    "sk_han.embeddings",
    "sk_han.inspection",
    "sk_han.nn",
    "sk_han.serving",
    "sk_han.tagging",
    "sk_han.translation",
}
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def private_modules(tree: ast.Module) -> set[str]:
    """Return the private modules of sk_han that a file imports, or names to patch."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {module, *(f"{module}.{alias.name}" for alias in aliases)}
            case ast.Constant(value=str(text)) if text.startswith("sk_han."):
                parts = text.split(".")
                names |= {
                    ".".join(parts[:end]) for end in range(2, len(parts) + 1) if parts[end - 1]
                }
    ours = {name for name in names if name.startswith("sk_han.") and is_module(name)}
    return ours - PUBLIC


def code_lines(source: str, tree: ast.Module) -> int:
    """Count lines that hold code: no blanks, comments and docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=[ast.Expr(value=ast.Constant(value=str())) as first, *_]) | (
                ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str())) as first, *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())) as first, *_])
            ):
                docstrings |= set(range(first.lineno, first.end_lineno + 1))
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            held |= set(range(token.start[0], token.end[0] + 1))
    return len(held - docstrings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list files with private imports")
    arguments = parser.parse_args()
    public = total = 0
    for file in sorted(TESTS.rglob("*.py")):
        source = file.read_text("utf-8")
        tree = ast.parse(source)
        n_lines, private = code_lines(source, tree), private_modules(tree)
        total += n_lines
        public += 0 if private else n_lines
        if private and arguments.files:
            print(f"{n_lines:5d} {file.relative_to(TESTS)}: {', '.join(sorted(private))}")
    print(f"{public:,} of {total:,} code lines, {public / total:.1%}, in files of public imports")


if __name__ == "__main__":
    main()
