"""How much of sk_han one call runs through: files and functions entered, calls between files.

``python benchmarks/hops.py`` fits a default classifier to 200 generated reviews, and calls
`predict_proba` and `explain` on ten of them. Imports and compilation happen before. A function
counts once however often it is called, comprehensions and generator expressions not at all. A call
between files is one whose nearest caller within sk_han, on the same thread, is in another file;
resuming a generator counts as a call. ``--files`` lists the files with the functions entered in
each. Point ``PYTHONPATH`` at an older tree to count that one.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from results import add_save, publish

import sk_han
from sk_han import HANClassifier
from sk_han.datasets import make_reviews

PACKAGE = str(Path(sk_han.__file__).parent)
NOT_FUNCTIONS = {"<module>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


def entered(run: Callable[[], Any]) -> tuple[dict[str, set[str]], int]:
    """Return the functions of sk_han that a call enters, by file, and the calls between files."""
    functions: dict[str, set[str]] = defaultdict(set)
    between = 0

    def see(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal between
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name not in NOT_FUNCTIONS:
            functions[code.co_filename].add(f"{code.co_name}:{code.co_firstlineno}")
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        between += caller is not None and caller.f_code.co_filename != code.co_filename

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return functions, between


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls to count, each run once already, so that nothing is left to import.

    The fit that is counted has other documents, since equal ones would share its linear models.
    """
    (texts, labels), others = (make_reviews(200, random_state=seed) for seed in range(2))

    def fit(texts: list[str], labels: Any) -> HANClassifier:
        return HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(texts, labels)

    model = fit(*others)
    found = {
        "fit": lambda: fit(texts, labels),
        "predict_proba": lambda: model.predict_proba(texts[:10]),
        "explain": lambda: model.explain(texts[:10]),
    }
    found["predict_proba"]()
    found["explain"]()
    return found


def main() -> None:
    """Print the table, and the files where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files and their functions")
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for name, run in calls().items():
        functions, between = entered(run)
        rows.append(
            {
                "call": f"`{name}`",
                "files": len(functions),
                "functions": sum(map(len, functions.values())),
                "calls between files": between,
            }
        )
        for file in sorted(functions) if arguments.files else ():
            print(f"{name}: {file.removeprefix(PACKAGE)}: {', '.join(sorted(functions[file]))}")
    publish("hops", rows, arguments.save)


if __name__ == "__main__":
    main()
