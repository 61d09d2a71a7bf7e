"""Draw a sample of the project's English for readers who judge it: python tests/language_sample.py.

Each line of the table is a docstring, a comment, a message, a sentence of a page or the name of a
test, with its place. Two readers mark, each apart, what they understood at the first reading, what
is true, and what they would not write anew. The sample depends on the seed and on the texts alone.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SIZES = {"docstring or comment": 60, "message": 30, "sentence of a page": 30, "name of a test": 30}
Place = tuple[str, str]  # a file with a line, and a text


def python_files(folder: str) -> Iterator[tuple[str, str, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = path.read_text("utf-8")
        yield str(path.relative_to(ROOT)), source, ast.parse(source)


def docstrings_and_comments() -> Iterator[Place]:
    """Yield docstrings without their sections, and blocks of own-line comments."""
    for file, source, tree in python_files("sk_han"):
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = re.split(r"\n\w+\n---", ast.get_docstring(node) or "")[0]
                if text:
                    yield f"{file}:{getattr(node, 'lineno', 1)}", text
        numbered = enumerate(map(str.strip, source.splitlines()), start=1)
        for is_comment, lines in itertools.groupby(numbered, lambda line: line[1].startswith("# ")):
            if is_comment:
                block = list(lines)
                yield f"{file}:{block[0][0]}", " ".join(line[2:] for _, line in block)


def messages() -> Iterator[Place]:
    """Yield the messages of exceptions and warnings that are written where they are raised."""
    for file, _, tree in python_files("sk_han"):
        for node in ast.walk(tree):
            call = node.exc if isinstance(node, ast.Raise) else node
            is_warning = isinstance(call, ast.Call) and ast.unparse(call.func) == "warn_user"
            if (
                isinstance(call, ast.Call)
                and call.args
                and (isinstance(node, ast.Raise) or is_warning)
            ):
                text = ast.unparse(call.args[0])
                if text.count(" ") > 2:
                    yield f"{file}:{node.lineno}", text


def sentences() -> Iterator[Place]:
    """Yield the sentences of pages, without code, tables, headings and comments."""
    for path in [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]:
        text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", path.read_text("utf-8"))
        for paragraph in re.split(r"\n\s*\n", text):
            if not re.match(r"[#|:<(]", paragraph.strip()):
                for sentence in re.split(r"(?<=[.?!])\s+", paragraph.strip()):
                    if sentence.count(" ") > 2:
                        yield str(path.relative_to(ROOT)), sentence


def test_names() -> Iterator[Place]:
    for file, _, tree in python_files("tests"):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{file}:{node.lineno}", node.name.removeprefix("test_").replace("_", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    generator = random.Random(parser.parse_args().seed)
    texts = docstrings_and_comments, messages, sentences, test_names
    print("| | kind | place | text | at once | true | stays |\n|--:|---|---|---|---|---|---|")
    number = itertools.count(1)
    for (kind, size), places in zip(SIZES.items(), texts, strict=True):
        for place, text in generator.sample(sorted(set(places())), size):
            shown = " ".join(text.split()).replace("|", "\\|")
            print(f"| {next(number)} | {kind} | `{place}` | {shown} | | | |")


if __name__ == "__main__":
    main()
