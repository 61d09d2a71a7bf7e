"""Change the code in 100 places, one at a time, and count the changes that the fast tests see.

    python -m tests.mutants [--only WORD] [--jobs N] [--former RESULTS]

First the fast tests run once under coverage. Each mutant then runs the tests that reach its place:
those of its package first, the quickest first, to the first that fails, and as many as take
`BUDGET` seconds together. What numba compiles is not seen by coverage: its mutants run all tests of
`COMPILED_TESTS`. Results are stored after each mutant in build/mutants/results.json: the same
command continues, until code or tests change. Mutants of `--former` results are drawn again where
they still exist, so that two commits are compared on the same ones.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "mutants"
TIMES, COVERED, RESULTS = FOLDER / "times.json", FOLDER / "coverage", FOLDER / "results.json"
NUMBER, SEED = 100, "68"
BUDGET = 60.0  # seconds of tests for one mutant, by their times under coverage
COMPILED_TESTS = {"tests/kernels/", "tests/text/", "tests/nn/", "tests/parts/"}

_OPERATORS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, BitAnd BitOr, And Or"
_FUNCTIONS = "min max, minimum maximum, argmin argmax, any all, floor ceil, zeros ones"
SWAPPED = {
    first: second
    for pair in f"{_OPERATORS}, {_FUNCTIONS}".split(", ")
    for first, second in (pair.split(), pair.split()[::-1])
}
AXES = {"axis", "dim"}
# Constraints, warnings and types, and keywords that alter memory, or an error that cannot happen.
SKIPPED = {"Interval", "StrOptions", "warn", "warn_user", "TypeVar", "isinstance", "issubclass"}
SKIPPED |= {"copy", "strict", "stacklevel", "slots"}


class Mutant(NamedTuple):
    """A place in the syntax tree, and the text that replaces it."""

    identity: str  # module, function, kind, code and ordinal: what changes elsewhere leave alone
    package: str
    kind: str
    path: str
    lines: range  # tests that run one of these can see it
    start: int  # in bytes
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes(node: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the kinds of mutants of a node, the node that is replaced, and by what."""

    def changed(**fields: object) -> str:
        mutated = copy.copy(node)
        vars(mutated).update(fields)
        return f"({ast.unparse(mutated)})"

    def swapped(operator: ast.AST) -> ast.AST:
        return getattr(ast, SWAPPED[type(operator).__name__])()

    match node:
        case ast.Compare(ops=[operator]):
            yield "comparison", node, changed(ops=[swapped(operator)])
        case ast.BoolOp(op=operator):
            yield "and/or", node, changed(op=swapped(operator))
        case ast.BinOp(op=operator) if type(operator).__name__ in SWAPPED:
            sides = {type(getattr(side, "value", side)) for side in (node.left, node.right)}
            if not sides & {str, bytes, ast.JoinedStr, ast.List, ast.Tuple}:
                yield "arithmetic", node, changed(op=swapped(operator))
        case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not(), operand=operand):
            yield "sign", node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield "flag", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", node, str(value + 1)
        case ast.Call(func=ast.Attribute(attr="where"), args=[mask, yes, no]):
            yield "mask", node, changed(args=[mask, no, yes])
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in SWAPPED:
            text = ast.unparse(node.func).removesuffix(name) + SWAPPED[name]
            yield "function", node.func, text
        case ast.keyword(arg=name, value=value) if name in AXES:
            yield "axis", value, "1" if ast.unparse(value) == "0" else "0"
        case ast.If(body=[ast.Raise()], orelse=[]):
            yield "check", node, "pass"
    for condition in getattr(node, "ifs", [getattr(node, "test", None)]):
        if isinstance(condition, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield "condition", condition, f"(not ({ast.unparse(condition)}))"


def walk(node: Any, names: tuple[str, ...] = (), lines: range = range(0)) -> Iterator[Any]:
    """Yield what is computed, with its functions and lines: no message, annotation, decorator."""
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        end = max(node.lineno + 1, body[0].lineno) if body else node.end_lineno + 1
        lines = range(node.lineno, end)
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.If(test=ast.Name("TYPE_CHECKING")):
            return
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) | ast.keyword(arg=name):
            if name in SKIPPED:
                return
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
            if "CONSTRAINTS" in name.upper():
                return
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            names = (*names, name)
    yield node, names, lines
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"} and not (
            isinstance(node, ast.keyword) and node.arg in AXES
        ):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, names, lines)


def find_mutants(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of one module."""
    parts = [part.lstrip("_") for part in Path(path).with_suffix("").parts[1:]]
    package = parts[0] if len(parts) > 1 else "sk_han"
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    mutants, counts = [], Counter[str]()
    for node, names, lines in walk(ast.parse(source)):
        for kind, replaced, text in changes(node):
            start = starts[replaced.lineno - 1] + replaced.col_offset
            end = starts[replaced.end_lineno - 1] + replaced.end_col_offset
            if kind == "check":
                lines = range(node.body[0].lineno, node.end_lineno + 1)
            is_type = kind == "arithmetic" and not names
            if is_type or (kind == "check" and source[start : start + 4] == b"elif"):
                continue
            code = ast.unparse(node.test if kind == "check" else replaced)
            place = f"{'.'.join(parts)}:{'.'.join(names)}:{kind}:{code}"
            identity = f"{place}:{counts[place]}"
            counts[place] += 1
            mutants.append(Mutant(identity, package, kind, path, lines, start, end, text))
    return mutants


def draw(mutants: list[Mutant], former: Collection[str] = (), number: int = NUMBER) -> list[Mutant]:
    """Draw from all packages, in proportion, at least two; in each the kinds take turns."""
    packages: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(
        mutants, key=lambda m: hashlib.sha256((SEED + m.identity).encode()).digest()
    ):
        packages[mutant.package].append(mutant)
    exact = {p: number * len(members) / len(mutants) for p, members in packages.items()}
    quotas = {package: max(2, int(share)) for package, share in exact.items()}
    while difference := number - sum(quotas.values()):
        step = 1 if difference > 0 else -1
        quotas[max(exact, key=lambda p: ((exact[p] - quotas[p]) * step, p))] += step
    drawn = []
    for package, members in sorted(packages.items()):
        turns = Counter[str]()
        ranks = []
        for mutant in members:
            ranks.append((mutant.identity not in former, turns[mutant.kind], len(ranks), mutant))
            turns[mutant.kind] += 1
        drawn += [mutant for *_, mutant in sorted(ranks)[: quotas[package]]]
    return drawn


# The hooks below run in the pytest of coverage and of each mutant: `-p tests.mutants`.
_report: dict[str, dict[str, float]] = {"seconds": {}, "failed": {}}


def _count_for(context: str) -> None:
    if running := coverage.Coverage.current():
        running.switch_context(context)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Count what fixtures run for all tests of the file, which may share them."""
    _count_for(f"{item.nodeid.partition('::')[0]}::")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _count_for(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seconds = _report["seconds"].get(report.nodeid, 0.0) + report.duration
    _report["failed" if report.failed else "seconds"][report.nodeid] = seconds


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _report["failed"][report.nodeid] = 0.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of $MUTANT_TESTS, in its order."""
    if path := os.environ.get("MUTANT_TESTS"):
        order = {test: k for k, test in enumerate(json.loads(Path(path).read_text("utf-8")))}
        items[:] = [item for item in items if item.nodeid in order]
        items.sort(key=lambda item: order[item.nodeid])


def pytest_sessionfinish(exitstatus: int) -> None:
    if (path := os.environ.get("MUTANT_REPORT")) and exitstatus <= 1:
        Path(path).write_text(json.dumps(_report), "utf-8")


def prepare(folder: Path) -> Path:
    """Copy the repository, whose code is then changed, and compile kernels into a cache of it."""
    shutil.rmtree(folder / "tree", ignore_errors=True)
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        if (ROOT / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / "tree" / name)
    start(folder, ["sk_han", "warm-up"]).wait()
    return folder


def start(folder: Path, command: list[str], **variables: object) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(folder / "tree"), os.environ.get("PYTHONPATH", "")])
    variables = {
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": 1,
        "PYTHONDONTWRITEBYTECODE": "",
        "NUMBA_CACHE_DIR": folder / "numba",
        **variables,
    }
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder / "tree",
        env=os.environ | {name: str(value) for name, value in variables.items()},
        stdout=subprocess.DEVNULL if "MUTANT_TESTS" in variables else None,
        start_new_session=True,
    )


def measure(folder: Path) -> None:
    """Run the fast tests under coverage."""
    command = ["coverage", "run", "-m", "pytest", "-q", "-p", "tests.mutants"]
    command += ["-m", "not slow and not thorough"]
    start(folder, command, COVERAGE_FILE=COVERED, MUTANT_REPORT=TIMES).wait()


def seen_by(folder: Path, mutant: Mutant, tests: list[str]) -> str | None:
    """Return the test that sees a mutant, or None."""
    path = folder / "tree" / mutant.path
    source, status = path.read_bytes(), path.stat()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        # Numba compiles again what is in a file that has changed, but not what calls it from
        # others: all kernels call the vectors.
        if path.stem.lstrip("_") != "vectors":
            shutil.copytree(folder / "numba", scratch / "numba")
        variables = {"PYTHONDONTWRITEBYTECODE": 1, "NUMBA_CACHE_DIR": scratch / "numba"}
        variables |= {name: scratch / f"{name}.json" for name in ("MUTANT_TESTS", "MUTANT_REPORT")}
        variables["MUTANT_TESTS"].write_text(json.dumps(tests), "utf-8")
        command = [
            "pytest",
            "-p",
            "tests.mutants",
            "-xqq",
            "--timeout=60",
            "-p",
            "no:cacheprovider",
        ]
        command += [f"--basetemp={scratch / 'tmp'}", *{test.partition("::")[0] for test in tests}]
        path.write_bytes(mutant.apply(source))
        process = start(folder, command, **variables)
        try:
            code = process.wait(timeout=60 + 2 * BUDGET)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also what its tests have started
            process.wait()
            path.write_bytes(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        report = variables["MUTANT_REPORT"]
        failed = json.loads(report.read_text("utf-8"))["failed"] if report.exists() else {}
        return next(iter(failed), f"exit status {code}") if code else None


def tests_of(mutant: Mutant, killer: str, seconds: dict[str, float], data: Any) -> list[str]:
    """Return tests that reach a mutant, the most promising first, within the budget."""
    by_line = data.contexts_by_lineno(mutant.path)
    contexts = {c for line in mutant.lines for c in by_line.get(line, ())}
    if "" in contexts:  # runs when the module is imported
        contexts = {c for line in by_line.values() for c in line}
    prefixes = tuple(c for c in contexts if c.endswith("::")) if by_line else tuple(COMPILED_TESTS)
    reached = [t for t in seconds if t in contexts or t.startswith(prefixes)]
    total = Counter[str]()
    for test in reached:
        total[test.partition("::")[0]] += seconds[test]
    module = Path(mutant.path).stem.lstrip("_")
    near = f"tests/{mutant.package}/", f"tests/{module}/", f"tests/test_{module}", mutant.path

    def rank(test: str) -> tuple[object, ...]:
        file = test.partition("::")[0]
        return test != killer, not test.startswith(near), total[file], file, seconds[test]

    reached.sort(key=rank)
    spent = accumulate(seconds[test] for test in reached)
    return reached[: max(1, sum(seconds_so_far <= BUDGET for seconds_so_far in spent))]


def main(only: str, jobs: int, former_path: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = sorted(p for part in ("sk_han", "tests") for p in (ROOT / part).rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    stored = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"digest": None}
    if stored["digest"] != digest:
        TIMES.unlink(missing_ok=True)
        stored = {"digest": digest, "mutants": {}}
        RESULTS.write_text(json.dumps(stored), "utf-8")
    results = stored["mutants"]
    former = json.loads(former_path.read_text("utf-8"))["mutants"] if former_path else {}
    folders: queue.Queue[Path] = queue.Queue()
    for k in range(jobs):
        folders.put(prepare(FOLDER / str(k)))
    if not TIMES.exists():
        measure(folders.queue[0])
    times = json.loads(TIMES.read_text("utf-8"))
    seconds = {t: s for t, s in times["seconds"].items() if t not in times["failed"]}
    data = coverage.CoverageData(str(COVERED))
    data.read()
    sources = {p.relative_to(ROOT).as_posix(): p.read_bytes() for p in paths}
    modules = [p for p in sources if p.startswith("sk_han/") and not p.endswith("gpu.py")]
    drawn = draw([m for path in modules for m in find_mutants(path, sources[path])], former)

    def run(mutant: Mutant) -> None:
        killer = former.get(mutant.identity, {}).get("seen by")
        tests = tests_of(mutant, killer, seconds, data)
        folder = folders.get()
        try:
            test = seen_by(folder, mutant, tests) if tests else None
        finally:
            folders.put(folder)
        line = sources[mutant.path][: mutant.start].count(b"\n") + 1
        place = f"{mutant.path}:{line} -> {mutant.text} ({len(tests)} tests; formerly {killer})"
        results[mutant.identity] = {"seen by": test, "place": place}
        RESULTS.write_text(json.dumps(stored, indent=1), "utf-8")
        print(f"{test or 'NOT SEEN':<60.60} {mutant.identity}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, (m for m in drawn if m.identity not in results and only in m.identity)))
    print_table([m for m in drawn if m.identity in results], results)


def print_table(drawn: list[Mutant], results: dict[str, dict[str, str]]) -> None:
    """Print what was seen by package, what was not, and coverage."""
    unseen = [mutant for mutant in drawn if not results[mutant.identity]["seen by"]]
    counts, all_counts = (Counter(m.package for m in mutants) for mutants in (unseen, drawn))
    print(f"\n{'package':<20} {'seen':>5} {'not seen':>9}")
    for package, number in all_counts.items():
        print(f"{package:<20} {number - counts[package]:>5} {counts[package]:>9}")
    print(f"{'all':<20} {len(drawn) - len(unseen):>5} {len(unseen):>9}\n")
    print(f"Not seen by the tests that reach it, or the first {BUDGET:.0f} seconds of these:")
    for mutant in unseen:
        print(f"- {mutant.identity}\n  {results[mutant.identity]['place']}")
    command = ["coverage", "json", "-q", f"--data-file={COVERED}", "-o", FOLDER / "totals.json"]
    subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=True)
    totals = json.loads((FOLDER / "totals.json").read_text("utf-8"))["totals"]
    for part, whole in ("covered_lines", "num_statements"), ("covered_branches", "num_branches"):
        print(f"{part}: {totals[part] / totals[whole]:.2%} ({totals[part]} of {totals[whole]})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="mutants whose identity has this word in it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--former", type=Path, help="results whose mutants are drawn again")
    arguments = parser.parse_args()
    main(arguments.only, arguments.jobs, arguments.former)
