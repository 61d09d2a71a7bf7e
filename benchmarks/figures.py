"""Draw stored results anew that a later change made old, in the order in which they are read.

A result is old if code that decides on a default fit, in the files of `DEFAULTS`, is another one
than at the commit of the result; comments and docstrings do not count. Each is drawn by its own
stored command, at low priority, and stored when it ends, so that a run that was stopped goes on
where it was. ``--stale`` lists old results; it fails if there are any. ``--mark`` writes into old
results that they are, which their footnotes show. Results from a GPU are left out, and so are those
whose command compares with an earlier version.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from functools import cache
from time import monotonic
from typing import Any

from results import FOLDER, ROOT, load

# The first words of the names of results: front page, peers, speed, explanations and so on.
ORDER = (
    *("accuracy", "peers", "fit_speed", "prediction_speed", "faithfulness", "encoders"),
    *("regression", "unlabelled", "characters", "several_labels", "ratings"),
)
DEFAULTS = (
    *("_classifier.py", "_estimator.py", "_regressor.py", "_tokenizer.py", "_documents"),
    *("_fitting", "_kernels", "_parts", "_targets", "_text", "_training", "embeddings", "nn"),
)
LEFT_OUT = ("gpu", "epochs")
OLD = "with earlier code of a fit"


def git(*arguments: str) -> str | None:
    """Return what git prints, or None if it fails, as for a file or commit that is not there."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


@cache
def code(commit: str, path: str) -> str | None:
    """Return the code of a file at a commit, without comments and docstrings."""
    text = git("show", f"{commit}:{path}")
    if text is None:
        return None
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            del node.body[0]
    return ast.dump(tree)


@cache
def is_old(commit: str) -> bool:
    """Return whether the code of a default fit has changed since a commit."""
    commit = commit.rstrip("+")
    paths = [f"sk_han/{path}" for path in DEFAULTS]
    changed = git("diff", "--name-only", commit, "HEAD", "--", *paths)
    if changed is None:
        return True
    files = [path for path in changed.split() if path.endswith(".py")]
    return any(code(commit, path) != code("HEAD", path) for path in files)


def commits(result: dict[str, Any]) -> set[str]:
    """Return the commits of a result; where rows have some, those of the rows of this package."""
    ours = {
        row["commit"]
        for row in result["rows"]
        if "commit" in row and row["system"].startswith("han")
    }
    return ours or {result["commit"]}


def place(name: str) -> tuple[int, str]:
    """Return the place of a result in the order in which they are read."""
    places = [i for i, first in enumerate(ORDER) if name.startswith(first)]
    return (*places, len(ORDER))[0], name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stale", action="store_true", help="list results that are old")
    parser.add_argument("--mark", action="store_true", help="mark results that are old")
    parser.add_argument("--hours", type=float, default=float("inf"), help="start none after these")
    arguments = parser.parse_args()
    names = sorted((path.stem for path in FOLDER.glob("*.json")), key=place)
    results = {name: load(name) for name in names}
    old = {name: result for name, result in results.items() if any(map(is_old, commits(result)))}
    if arguments.mark:
        for name, result in results.items():
            marked = {key: value for key, value in result.items() if value != OLD}
            mark = {"note": OLD} if name in old else {}
            text = json.dumps(mark | marked, indent=1, ensure_ascii=False)
            (FOLDER / f"{name}.json").write_text(text + "\n", "utf-8")
        return
    results, old = (
        {name: found for name, found in each.items() if not name.startswith(LEFT_OUT)}
        for each in (results, old)
    )
    if arguments.stale:
        for name, result in old.items():
            print(f"{name}: {result['commit']} of {result['date']}, {result['command']}")
        sys.exit(f"{len(old)} of {len(results)} results are old." if old else 0)
    os.nice(10)
    start, done = monotonic(), set()
    for name, result in old.items():
        command = result["command"]
        if command in done or monotonic() - start > 3600 * arguments.hours:
            continue
        print(f"{name}: {command}", flush=True)
        done.add(command)  # some store several results
        subprocess.run(
            command.replace("python ", f"{sys.executable} ", 1) + " --save",
            cwd=ROOT,
            shell=True,
            check=False,
        )


if __name__ == "__main__":
    main()
