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
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "mutants"
NUMBER, SEED = 100, 68
BUDGET = 60.0  # seconds of tests for one mutant, by their times under coverage
COMPILED_TESTS = ("tests/kernels/", "tests/text/", "tests/nn/", "tests/parts/")

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
PAIRS = "min max, minimum maximum, argmin argmax, any all, floor ceil, zeros ones"
CALLED = {a: b for pair in PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
AXES = {"axis", "dim"}
# Changes here alter memory, or an error that cannot happen, but no result.
UNCHANGED_KEYWORDS = {"copy", "strict", "stacklevel", "slots"}
# Constraints, warnings and types.
SKIPPED = {"Interval", "StrOptions", "warn", "warn_user", "TypeVar", "isinstance", "issubclass"}


@dataclass
class Mutant:
    """A place in the syntax tree, and the text that replaces it."""

    path: str
    lines: range  # tests that run one of these can see it
    start: int  # in bytes
    end: int
    text: str
    identity: str  # module, function, kind, code and ordinal: what changes elsewhere leave alone

    @property
    def package(self) -> str:
        return self.identity.split(":")[0].rpartition(".")[0].partition(".")[0] or "sk_han"

    @property
    def kind(self) -> str:
        return self.identity.split(":")[2]

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the kinds of mutants of a node, the node that is replaced, and by what."""

    def changed(**fields: object) -> str:
        mutated = copy.copy(node)
        vars(mutated).update(fields)
        return f"({ast.unparse(mutated)})"

    match node:
        case ast.Compare(ops=[operator]):
            yield "comparison", node, changed(ops=[COMPARED[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in COMPUTED and not {
            type(getattr(side, "value", side)) for side in (node.left, node.right)
        } & {str, bytes, ast.JoinedStr, ast.List, ast.Tuple}:
            yield "arithmetic", node, changed(op=COMPUTED[type(operator)]())
        case ast.BoolOp(op=operator):
            yield (
                "and/or",
                node,
                changed(op=ast.Or() if isinstance(operator, ast.And) else ast.And()),
            )
        case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not(), operand=operand):
            yield "sign", node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield "flag", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", node, str(value + 1)
        case ast.Call(func=ast.Attribute(attr="where"), args=[mask, yes, no]):
            yield "mask", node, changed(args=[mask, no, yes])
        case ast.Call(func=ast.Name(id=name) as function) if name in CALLED:
            yield "function", function, CALLED[name]
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in CALLED:
            text = f"({ast.unparse(function.value)}).{CALLED[name]}"
            yield "function", function, text
        case ast.keyword(arg=name, value=value) if name in AXES:
            yield "axis", value, "1" if ast.unparse(value) == "0" else "0"
        case ast.If(body=[ast.Raise()], orelse=[]):
            yield "check", node, "pass"
    conditions = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
    for condition in conditions:
        if isinstance(condition, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield "condition", condition, f"(not ({ast.unparse(condition)}))"


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source, self.mutants = path, source, list[Mutant]()
        self.names: list[str] = []
        self.lines = range(0)
        self.counts: Counter[str] = Counter()
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.visit(ast.parse(source))

    def visit(self, node: ast.AST) -> None:
        outer = self.lines
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            self.lines = range(node.lineno, last + 1)
        if not self._is_skipped(node):
            for kind, replaced, text in changes(node):
                self._add(kind, node, replaced, text)
            super().visit(node)
        self.lines = outer

    def _is_skipped(self, node: ast.AST) -> bool:
        match node:
            case (
                ast.Raise()
                | ast.Assert()
                | ast.JoinedStr()
                | ast.If(test=ast.Name("TYPE_CHECKING"))
            ):
                return True
            case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
                is_type = isinstance(getattr(node.value, "op", None), ast.BitOr) and not self.names
                return is_type or "CONSTRAINTS" in name.upper()
            case ast.keyword(arg=name):
                return name in UNCHANGED_KEYWORDS
            case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
                return name in SKIPPED
        return False

    def generic_visit(self, node: ast.AST) -> None:
        """Visit what a node computes: no annotations and decorators, and of an axis no number."""
        if isinstance(node, ast.keyword) and node.arg in AXES:
            return
        for name, value in ast.iter_fields(node):
            if name not in {"annotation", "returns", "decorator_list"}:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child)

    def _named(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _named  # noqa: N815

    def _add(self, kind: str, node: ast.AST, replaced: ast.expr | ast.stmt, text: str) -> None:
        start = self.starts[replaced.lineno - 1] + replaced.col_offset
        end = self.starts[replaced.end_lineno - 1] + replaced.end_col_offset
        lines = self.lines
        if kind == "check":
            if self.source[start : start + 2] != b"if":  # an elif
                return
            lines = range(node.body[0].lineno, node.end_lineno + 1)
        module = ".".join(p.lstrip("_") for p in Path(self.path).with_suffix("").parts[1:])
        code = ast.unparse(node.test if kind == "check" else replaced)
        place = f"{module}:{'.'.join(self.names)}:{kind}:{code}"
        identity = f"{place}:{self.counts[place]}"
        self.counts[place] += 1
        self.mutants.append(Mutant(self.path, lines, start, end, text, identity))


def all_mutants(root: Path) -> list[Mutant]:
    """Return all mutants of the package, without what needs a GPU."""
    paths = sorted((root / "sk_han").rglob("*.py"))
    return [
        mutant
        for path in paths
        if path.stem.lstrip("_") != "gpu"
        for mutant in find_mutants(path.relative_to(root).as_posix(), path.read_bytes())
    ]


def find_mutants(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of one module."""
    return _Finder(path, source).mutants


def draw(mutants: list[Mutant], former: Collection[str] = (), number: int = NUMBER) -> list[Mutant]:
    """Draw from all packages, in proportion, at least two; in each the kinds take turns."""
    packages: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        packages[mutant.package].append(mutant)
    exact = {p: number * len(members) / len(mutants) for p, members in packages.items()}
    quotas = {p: max(2, int(share)) for p, share in exact.items()}
    while difference := number - sum(quotas.values()):
        step = 1 if difference > 0 else -1
        package = max(exact, key=lambda p: ((exact[p] - quotas[p]) * step, p))
        quotas[package] += step
    drawn = []
    for package, members in sorted(packages.items()):
        hashes = {
            m.identity: hashlib.sha256(f"{SEED}{m.identity}".encode()).digest() for m in members
        }
        turns: Counter[str] = Counter()
        ranks = []
        for mutant in sorted(members, key=lambda m: hashes[m.identity]):
            ranks.append((mutant.identity not in former, turns[mutant.kind], len(ranks), mutant))
            turns[mutant.kind] += 1
        drawn += [mutant for *_, mutant in sorted(ranks)[: quotas[package]]]
    return drawn


# The hooks below run in the pytest of coverage and of each mutant: `-p tests.mutants`.
_report: dict[str, dict[str, float]] = {"seconds": {}, "failed": {}}


def _switch(context: str) -> None:
    if running := coverage.Coverage.current():
        running.switch_context(context)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Count what fixtures run for all tests of the file, which may share them."""
    _switch(f"{item.nodeid.partition('::')[0]}::")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Count what a test runs."""
    _switch(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep times and failures."""
    seconds = _report["seconds"].get(report.nodeid, 0.0) + report.duration
    _report["seconds" if not report.failed else "failed"][report.nodeid] = seconds


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of $MUTANT_TESTS, in its order."""
    if path := os.environ.get("MUTANT_TESTS"):
        order = {nodeid: k for k, nodeid in enumerate(json.loads(Path(path).read_text("utf-8")))}
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )


def pytest_sessionfinish() -> None:
    """Store times and failures."""
    if path := os.environ.get("MUTANT_REPORT"):
        Path(path).write_text(json.dumps(_report), "utf-8")


@dataclass
class Workplace:
    """A copy of the repository whose code may be changed, with a cache of compiled kernels."""

    folder: Path
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        path = os.pathsep.join(filter(None, [str(self.tree), os.environ.get("PYTHONPATH")]))
        self.environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self.environment |= {"NUMBA_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run([sys.executable, "-m", "sk_han", "warm-up"], cwd=self.tree, check=True,
                       env=self.environment)  # fmt: skip

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def cache(self) -> Path:
        return self.folder / "numba"

    def measure(self) -> None:
        """Run the fast tests under coverage."""
        report = {"MUTANT_REPORT": str(FOLDER / "times.part")}
        command = ["coverage", "run", f"--data-file={FOLDER / 'coverage'}", "-m", "pytest", "-q"]
        command += ["-p", "tests.mutants", "-m", "not slow and not thorough"]
        subprocess.run(
            [sys.executable, "-m", *command], cwd=self.tree, env=self.environment | report
        )
        (FOLDER / "times.part").rename(FOLDER / "times.json")

    def run(self, mutant: Mutant, tests: list[str]) -> str | None:
        """Return the test that sees a mutant, or None."""
        path = self.tree / mutant.path
        source, status = path.read_bytes(), path.stat()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # Numba compiles again what is in a file that has changed, but not what calls it from
            # others; the vectors are in all of the kernels.
            if path.stem.lstrip("_") != "vectors":
                shutil.copytree(self.cache, folder / "numba")
            (folder / "tests.json").write_text(json.dumps(tests), "utf-8")
            variables = {"NUMBA_CACHE_DIR": str(folder / "numba"), "PYTHONDONTWRITEBYTECODE": "1",
                         "MUTANT_TESTS": str(folder / "tests.json"),
                         "MUTANT_REPORT": str(folder / "report.json")}  # fmt: skip
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "tests.mutants",
                "-xqq",
                "--timeout=60",
            ]
            command += ["-p", "no:cacheprovider", f"--basetemp={folder / 'tmp'}"]
            command += sorted({test.partition("::")[0] for test in tests})
            path.write_bytes(mutant.apply(source))
            process = subprocess.Popen(
                command, cwd=self.tree, env=self.environment | variables, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
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
            if code == 0:
                return None
            report = folder / "report.json"
            failed = json.loads(report.read_text("utf-8"))["failed"] if report.exists() else {}
            return next(iter(failed), f"exit status {code}")


class Reach:
    """Which tests reach a line, the most promising first."""

    def __init__(self) -> None:
        times = json.loads((FOLDER / "times.json").read_text("utf-8"))
        self.seconds = {t: s for t, s in times["seconds"].items() if t not in times["failed"]}
        self.data = coverage.CoverageData(str(FOLDER / "coverage"))
        self.data.read()
        self.by_line: dict[str, dict[int, list[str]]] = {}

    def tests(self, mutant: Mutant, killer: str | None) -> list[str]:
        """Return the tests for a mutant, as many as fit into the budget."""
        if mutant.path not in self.by_line:
            self.by_line[mutant.path] = self.data.contexts_by_lineno(mutant.path)
        by_line = self.by_line[mutant.path]
        contexts = {c for line in mutant.lines for c in by_line.get(line, ())}
        if "" in contexts:  # it runs when the module is imported
            contexts = {c for line in by_line.values() for c in line}
        if is_compiled(mutant.path):
            contexts = set(COMPILED_TESTS)
        prefixes = tuple(c for c in contexts if c.endswith(("/", "::")))
        reached = [t for t in self.seconds if t in contexts or t.startswith(prefixes)]
        total: Counter[str] = Counter()
        for test in reached:
            total[test.partition("::")[0]] += self.seconds[test]
        near = f"tests/{mutant.package}/", f"{mutant.path}::"

        def rank(test: str) -> tuple[object, ...]:
            file = test.partition("::")[0]
            return test != killer, not test.startswith(near), total[file], file, self.seconds[test]

        left, chosen = BUDGET, []
        for test in sorted(reached, key=rank):
            if (left := left - self.seconds[test]) < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def is_compiled(path: str) -> bool:
    """Whether numba compiles a module."""
    return "kernels.vectors import" in (
        text := (ROOT / path).read_text("utf-8").replace("_", "")
    ) or ("from numba import" in text)


def main(arguments: argparse.Namespace) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = sorted(p for part in ("sk_han", "tests") for p in (ROOT / part).rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    results_path, former_path = FOLDER / "results.json", FOLDER / "former.json"
    results = {"digest": digest, "mutants": {}}
    if results_path.exists():
        stored = json.loads(results_path.read_text("utf-8"))
        if stored["digest"] == digest:
            results = stored
        else:
            results_path.rename(former_path)
            (FOLDER / "times.json").unlink(missing_ok=True)
    former_path = arguments.former or former_path
    former = {}
    if former_path.exists():
        former = json.loads(former_path.read_text("utf-8"))["mutants"]

    workplaces: queue.Queue[Workplace] = queue.Queue()
    for k in range(arguments.jobs):
        workplaces.put(Workplace(FOLDER / str(k)))
    if not (FOLDER / "times.json").exists():
        workplaces.queue[0].measure()
    reach = Reach()
    drawn = draw(all_mutants(ROOT), former)

    def run(mutant: Mutant) -> None:
        start = time.monotonic()
        tests = reach.tests(mutant, former.get(mutant.identity, {}).get("seen by"))
        workplace = workplaces.get()
        seen_by = workplace.run(mutant, tests) if tests else None
        workplaces.put(workplace)
        line = (ROOT / mutant.path).read_bytes()[: mutant.start].count(b"\n") + 1
        results["mutants"][mutant.identity] = {
            "seen by": seen_by,
            "place": f"{mutant.path}:{line}",
            "change": mutant.text,
            "tests": len(tests),
            "seconds": round(time.monotonic() - start, 1),
        }
        results_path.write_text(json.dumps(results, indent=1), "utf-8")
        print(f"{seen_by or 'NOT SEEN':<60.60} {mutant.identity}", flush=True)

    waiting = [
        m for m in drawn if m.identity not in results["mutants"] and arguments.only in m.identity
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(run, waiting))
    print_table(drawn, results["mutants"])


def print_table(drawn: list[Mutant], results: dict[str, dict[str, str]]) -> None:
    """Print what was seen by package, what was not, and coverage."""
    seen, unseen = Counter[str](), Counter[str]()
    for mutant in drawn:
        if mutant.identity in results:
            (seen if results[mutant.identity]["seen by"] else unseen)[mutant.package] += 1
    print(f"\n{'package':<20} {'seen':>5} {'not seen':>9}")
    for package in sorted(seen | unseen):
        print(f"{package:<20} {seen[package]:>5} {unseen[package]:>9}")
    print(f"{'all':<20} {seen.total():>5} {unseen.total():>9}\n")
    print(f"Not seen by {BUDGET:.0f} seconds of the tests that reach it:")
    for mutant in drawn:
        result = results.get(mutant.identity)
        if result and not result["seen by"]:
            code = mutant.identity.split(":", 2)[2]
            print(f"- {result['place']} {code} -> {result['change']} ({result['tests']} tests)")
    measured = coverage.Coverage(str(FOLDER / "coverage"), config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        measured.json_report(outfile=f"{folder}/totals.json")
        totals = json.loads(Path(folder, "totals.json").read_text("utf-8"))["totals"]
    branches, all_branches = totals["covered_branches"], totals["num_branches"]
    print(
        f"Coverage: {100 * totals['covered_lines'] / totals['num_statements']:.2f} % of lines, "
        f"{100 * branches / all_branches:.2f} % of branches ({branches} of {all_branches})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="python -m tests.mutants [--only WORD] [--jobs N]")
    parser.add_argument("--only", default="", help="mutants whose identity has this word in it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--former", type=Path, help="results whose mutants are drawn again")
    main(parser.parse_args())
