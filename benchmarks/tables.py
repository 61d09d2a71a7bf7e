"""Draw the tables of the pages from what `results.py` has stored; ``--check`` compares alone.

``python benchmarks/tables.py`` writes each table anew that stands between ``<!-- table: NAME -->``
and ``<!-- end -->``, and under it where it comes from. NAME is that of a file in
``benchmarks/results``, whose rows are drawn as they are, or one of those in `DRAWN`. On a page with
``<!-- marks -->``, commits and processors stand there, and a number for them under each table.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from typing import Any

from results import ROOT, grid, load

PAGES = [
    ROOT / name
    for name in (
        "README.md",
        "docs/index.md",
        "docs/architecture.md",
        "docs/benchmarks.md",
        "docs/believing.md",
        "docs/how_to/audit_labels.md",
        "docs/how_to/search_parameters.md",
        "docs/how_to/gpu.md",
        "docs/how_to/large_collections.md",
        "docs/how_to/other_languages.md",
        "docs/how_to/see_what_a_model_learnt.md",
        "docs/how_to/see_where_a_model_fails.md",
        "docs/how_to/small_data.md",
        "docs/how_to/text_beside_numbers.md",
    )
]
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
WHEN = re.compile(r": (commit .+?)\.\*")
MARKS = re.compile(r"(<!-- marks -->\n).*?(<!-- end -->)", re.DOTALL)
CORPORA = {
    "imdb-2000": "IMDB, 2,000",
    "imdb-1000": "IMDB, 1,000",
    "20news": "20 newsgroups",
    "airline": "airline tweets",
    "make_reviews": "generated reviews",
}
MODELS = {
    "tfidf": "TF-IDF(1-2) + LR",
    "characters": "TF-IDF of characters + LR",
    "nb-svm": "NB-SVM(1-2)",
    "han": "`HANClassifier`",
}
CHARACTERS = {
    "TF-IDF of words + LR": "words + LR",
    "TF-IDF of characters + LR": "characters + LR",
    "TF-IDF of both + LR": "both + LR",
    "`HANClassifier(linear_chars=None)`": "`linear_chars=None`",
    "`HANClassifier()`": "`HANClassifier`",
}
READINGS = {"han": "defaults", "words": '`tokens="words"`', "min-df-2": "`min_df=2`"}
POOLINGS = {"pure": "attention (HN-ATT)", "pure-mean": "mean (HN-AVE)"}
UNLABELLED = (
    "imdb-1000",
    "imdb-2000",
    "imdb-5000",
    "imdb",
    "20news-1000",
    "airline-500",
    "nsmc-1000",
)


def drawn(text: str) -> str:
    """Draw the tables of a page anew."""
    text = TABLE.sub(lambda found: f"{found[1]}{draw(found[2])}\n{found[3]}", text)
    if not MARKS.search(text):
        return text
    numbers: dict[str, int] = {}
    text = WHEN.sub(lambda found: f" [{numbers.setdefault(found[1], len(numbers) + 1)}]*", text)
    rows = "\n".join(f"{number}. {said}" for said, number in numbers.items())
    return MARKS.sub(lambda found: f"{found[1]}{rows}\n{found[2]}", text)


def draw(name: str) -> str:
    """Draw one table, with where it comes from."""
    if name in DRAWN:
        return DRAWN[name]()
    found = load(name)
    return "\n".join(grid(found["rows"])) + "\n\n" + origin(found)


def origin(*found: dict[str, Any]) -> str:
    """Say the commands of results, and from which commit, processor and date they are."""
    commands: dict[str, list[str]] = {}
    for one in found:
        commands.setdefault(when(one), []).append(f"`{one['command']}`")
    each = [f"*{', '.join(dict.fromkeys(of))}: {said}.*" for said, of in commands.items()]
    return " ".join(each)


def when(one: dict[str, Any]) -> str:
    said = f"commit {one['commit']}, {one['processor']}, {one['date']}"
    return said + (f", {one['note']}" if "note" in one else "")


def accuracy(models: dict[str, str], corpora: Iterable[str], *keys: str) -> str:
    """Draw a row for each corpus and a column for each model, and further keys of the last."""
    found = [load(f"accuracy-{name}") for name in corpora]
    rows = []
    for name, result in zip(corpora, found, strict=True):
        of = by(result, "model")
        row: dict[str, Any] = {"accuracy, %": CORPORA[name]}
        row |= {label: shown(of[model]) if model in of else "" for model, label in models.items()}
        rows.append(row | {f"its {key}": of[list(models)[-1]][key] for key in keys})
    return "\n".join(grid(rows)) + "\n\n" + origin(*found)


def front() -> str:
    """Draw a few rows for the front pages; the commands stand on the page of benchmarks."""
    models = {name: MODELS[name] for name in ("tfidf", "han")}
    corpora = ["imdb-2000", "20news", "airline", "make_reviews"]
    table = accuracy(models, corpora).rpartition("\n\n")[0]
    said = dict.fromkeys(when(load(f"accuracy-{name}")) for name in corpora)
    return f"{table}\n\n*Three seeds, defaults; {'; '.join(said)}.*"


def characters(*corpora: str) -> str:
    """Draw a row for each corpus, and what the model of characters adds to its accuracy."""
    found, rows = [load(f"characters-{name}") for name in corpora], []
    for name, result in zip(corpora, found, strict=True):
        of = by(result, "model")
        shown = {label: of.get(name, {}).get("accuracy, %") for name, label in CHARACTERS.items()}
        rows.append({"accuracy, %": name, **shown})
    return "\n".join(grid(rows)) + "\n\n" + origin(*found)


def pooling() -> str:
    """Draw runs whose commands stand under the first table."""
    return accuracy(POOLINGS, ["imdb-1000", "airline", "make_reviews"]).rpartition("\n\n")[0]


def unlabelled() -> str:
    """Draw what text without labels brings, beside the same labels alone."""
    rows, origins = [], []
    for name in UNLABELLED:
        found = load(f"unlabelled-{name}")
        origins.append(found)
        kinds = by(found, "kind")
        alone = kinds.get("alone")
        if alone is None and name in CORPORA:
            origins.append(load(f"accuracy-{name}"))
            alone = by(origins[-1], "model")["han"]
        row: dict[str, Any] = {"accuracy, %": name, "labels alone": alone and shown(alone)}
        row["and text without labels"] = shown(kinds["without"])
        rows.append(row | {key: kinds["without"][key] for key in ("log loss", "calibration error")})
    return "\n".join(grid(rows)) + "\n\n" + origin(*origins)


def by(found: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in found["rows"]}


def shown(row: dict[str, Any]) -> str:
    return f"{row['accuracy']:.2f}" + (f" ± {row['spread']:.2f}" if row["runs"] > 1 else "")


DRAWN = {
    "accuracy": lambda: accuracy(MODELS, CORPORA, "log loss", "calibration error"),
    "front": front,
    "characters": lambda: characters("20news-1000", "20news", "airline", "imdb-2000"),
    "pooling": pooling,
    "readings": lambda: accuracy(READINGS, ["20news", "airline", "imdb-2000"]),
    "unlabelled": unlabelled,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a page differs")
    arguments = parser.parse_args()
    stale = []
    for page in PAGES:
        text = page.read_text("utf-8")
        if (new := drawn(text)) != text:
            stale.append(page.relative_to(ROOT).as_posix())
            if not arguments.check:
                page.write_text(new, "utf-8")
    if arguments.check and stale:
        sys.exit(f"Draw {', '.join(stale)} anew: python benchmarks/tables.py")


if __name__ == "__main__":
    main()
