"""Run as many scenarios as one likes, and print the shortest reproducer of each kind of failure.

python -m tests.scenarios --n 2000 --seed 0
python -m tests.scenarios texts=polars labels=booleans   # one scenario; the rest are defaults
"""

from __future__ import annotations

import argparse
import shlex
import sys
from itertools import chain, count, islice

from tests.scenarios.dimensions import NAMES, SLOW, is_legal
from tests.scenarios.drawing import Scenario, covering, shortest
from tests.scenarios.running import Failure, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.scenarios")
    parser.add_argument("--n", type=int, default=400, help="number of scenarios (default: 400)")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the draw and of the documents")
    parser.add_argument("given", nargs="*", metavar="DIMENSION=VALUE", help="of one scenario")
    arguments = parser.parse_args()
    if arguments.given:
        given = dict(pair.split("=", 1) for pair in arguments.given)
        failure = run(given, arguments.seed)
        print(f"{failure.trace}\n{failure.message}" if failure else "Nothing is wrong with it.")
        return failure is not None
    kinds: dict[str, int] = {}
    # The scenarios of one covering set after the other, each drawn anew.
    drawn = chain.from_iterable(
        covering(NAMES, is_legal, seed, SLOW) for seed in count(arguments.seed)
    )
    numbers = range(arguments.first, arguments.first + arguments.n)
    for number, scenario in zip(numbers, islice(drawn, arguments.first, None), strict=False):
        failure = run(scenario, seed=number)
        if failure is None:
            continue
        kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
        if kinds[failure.kind] == 1:
            print(_told(number, scenario, failure), flush=True)
    print(f"{arguments.n} scenarios: {len(kinds)} kinds of failure")
    for kind, n in sorted(kinds.items(), key=lambda item: -item[1]):
        print(f"{n:6}  {kind}")
    return bool(kinds)


def _told(number: int, scenario: Scenario, failure: Failure) -> str:
    def fails(simpler: Scenario) -> bool:
        if not is_legal(simpler):
            return False
        found = run(simpler, seed=seed)
        return found is not None and found.kind == failure.kind

    seed = 0
    if not fails(scenario):
        seed = number
    few = shortest(scenario, NAMES, fails)
    return f"{number}  {failure.kind}\n  {failure.message[:300]}\n  {reproducer(few, seed)}\n"


def reproducer(changed: Scenario, seed: int) -> str:
    """Return the command that runs a scenario, given where it differs from the defaults."""
    given = [f"{name}={value}" for name, value in changed.items()]
    return shlex.join(["python", "-m", "tests.scenarios", *given, f"--seed={seed}"])


if __name__ == "__main__":
    sys.exit(main())
