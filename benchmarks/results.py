"""What benchmarks have found, stored for the pages that `tables.py` draws: ``--save``."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "results"


def add_save(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save", action="store_true", help="store the table in benchmarks/results")


def save(name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows, of equal keys, and where they come from; NumPy's numbers may be among them."""
    found = {
        "command": command(),
        "commit": commit(),
        "processor": processor(),
        "date": datetime.now(UTC).date().isoformat(),
        "rows": rows,
    }
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False, default=lambda number: number.item())
    (FOLDER / f"{name}.json").write_text(text + "\n", "utf-8")


def publish(name: str, rows: list[dict[str, Any]], store: bool) -> None:
    """Print rows as a table of Markdown, and store them if that is asked for."""
    print("\n".join(grid(rows)), flush=True)
    if store:
        save(name, rows)


def grid(rows: list[dict[str, Any]]) -> list[str]:
    """Draw rows of equal keys; the keys are the header, and columns of numbers end at the right."""
    columns = {heading: cells([row[heading] for row in rows]) for heading in rows[0]}
    numbers = [all(re.match(r"-?\d|$", cell) for cell in column) for column in columns.values()]
    numbers[0] = False
    lines = [f"| {' | '.join(line)} |" for line in [columns, *zip(*columns.values(), strict=True)]]
    return [lines[0], f"|{'|'.join('--:' if n else '---' for n in numbers)}|", *lines[1:]]


def cells(values: list[Any]) -> list[str]:
    """Write numbers of a column with as many decimals as the longest of them has."""
    n_decimals = max(
        (len(str(value).partition(".")[2]) for value in values if isinstance(value, float)),
        default=0,
    )
    return [
        value if isinstance(value, str) else "" if value is None else f"{value:,.{n_decimals}f}"
        for value in values
    ]


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def command() -> str:
    """Give the command that runs, with its number of threads, without ``--save``."""
    script = Path(sys.argv[0]).resolve().relative_to(ROOT).as_posix()
    words = [argument for argument in sys.argv[1:] if argument != "--save"]
    threads = os.environ.get("OMP_NUM_THREADS")
    return (f"OMP_NUM_THREADS={threads} " if threads else "") + shlex.join(
        ["python", script, *words]
    )


def commit() -> str:
    """Give the last commit of the package, with a + where its files differ from that."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()

    last = git("log", "-1", "--format=%h", "--", "sk_han")
    return last + ("+" if git("status", "-s", "sk_han") else "")


def processor() -> str:
    """Give what Linux says of the first core, and the number of cores."""
    said = {}
    path = Path("/proc/cpuinfo")
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        key, _, value = line.partition(":")
        said.setdefault(key.strip(), value.strip())
    name = said.get("model name", "an unknown processor")
    family = [
        f"{key.removeprefix('cpu ')} {said[key]}" for key in ("cpu family", "model") if key in said
    ]
    return ", ".join([name, *family, f"{os.cpu_count()} cores"])
