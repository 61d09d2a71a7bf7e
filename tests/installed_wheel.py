"""Try the installed wheel as a user would: command line, Scorer, and the first block of the README.

`make test-wheel` runs this in an environment that holds the wheel and what it requires.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sk_han
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer

ROOT = Path(__file__).resolve().parents[1]


def sk_han_command(*arguments: str) -> None:
    subprocess.run([Path(sys.executable).parent / "sk-han", *arguments], check=True)


def try_command_line_and_scorer() -> None:
    texts, labels = make_reviews(300, random_state=0)
    with open("reviews.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    sk_han_command("fit", "reviews.csv", "-o", "model.han", "--set", "max_epochs=2")
    sk_han_command("predict", "model.han", "reviews.csv", "--proba", "-o", "predicted.csv")
    sk_han_command("explain", "model.han", "reviews.csv", "--rows", "5", "-o", "page.html")

    scorer = Scorer.load("model.han")
    probabilities = scorer.predict_proba(texts)
    assert "torch" not in sys.modules, "the Scorer has loaded PyTorch"
    with open("predicted.csv", newline="", encoding="utf-8") as file:
        predicted = [row["prediction"] for row in csv.DictReader(file)]
    assert predicted == scorer.classes_[probabilities.argmax(axis=1)].tolist()
    loaded = sk_han.load("model.han").predict_proba(texts)
    np.testing.assert_allclose(probabilities, loaded, atol=1e-6)
    assert Path("page.html").stat().st_size > 1000


def try_quickstart() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    exec(re.search(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[1], {})
    assert Path("explained.html").stat().st_size > 1000


if __name__ == "__main__":
    assert "site-packages" in sk_han.__file__, sk_han.__file__
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try_command_line_and_scorer()
        try_quickstart()
        os.chdir(ROOT)  # Windows removes no folder that a process is in
    print(f"sk_han {sk_han.__version__} works on Python {sys.version.split()[0]}")
