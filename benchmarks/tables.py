"""Draw the tables of the pages from what `results.py` has stored; ``--check`` compares alone.

``python benchmarks/tables.py`` writes each table anew that stands between ``<!-- table: NAME -->``
and ``<!-- end -->``. NAME is that of a file in ``benchmarks/results``, whose rows are drawn as they
are, or one of those in `DRAWN`. A table ends in marks, which are footnotes of the page: commit,
processor, date and commands of its runs, at the end of the page.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from statistics import mean
from typing import Any

from results import ROOT, grid, load

TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
MARKS = re.compile(r"(<!-- marks -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if TABLE.search(page.read_text("utf-8"))
]
AUDITS = {
    "airline-10": "airline tweets",
    "imdb-10": "film reviews",
    "20news-10": "20 newsgroups",
    "imdb-20": "film reviews",
    "20news-20": "20 newsgroups",
}
PEERS = {
    "han": "`HANClassifier`",
    "han-texts": "with texts without labels",
    "han-use": "with `encoder=` USE",
    "tfidf": "TF-IDF(1-2) + LR",
    "characters": "TF-IDF of characters + LR",
    "svc": "TF-IDF(1-2) + LinearSVC",
    "minilm": "MiniLM-L6, frozen, + LR",
    "use": "USE, frozen, + LR",
    "setfit": "SetFit, MiniLM-L6",
    "spacy-bow": "spaCy, bag of words",
    "spacy": "spaCy, ensemble",
    "fasttext": "fastText, autotune",
}
PEER_COSTS = {"fit, CPU s": 1, "prediction, CPU s": 2, "peak MB": None, "model MB": 2}
PEER_MEASURES = {"accuracy": 1, "micro F1": 1, "macro F1": 1} | PEER_COSTS  # with decimals
PEER_CORPORA = {
    "imdb": "IMDB",
    "20news": "20 newsgroups",
    "airline": "airline tweets",
    "nsmc": "nsmc",
    "goemotions": "GoEmotions",
    "movies": "movies",
}
Drawn = tuple[list[str], list[dict[str, Any]]]  # the lines of a table, and the results in it
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
HIDDEN = {
    "tfidf": "TF-IDF(1-2) + LR",
    "han": "`HANClassifier`",
    "excerpts": "on excerpts of 256 words",
    "pure": "its network alone",
    "pure-excerpts": "the network on excerpts",
}
UNLABELLED = ("imdb-1000", "imdb", "20news-1000", "airline-500", "nsmc-1000")


def drawn(text: str) -> str:
    """Draw the tables of a page anew, and at its end the runs that their marks refer to."""
    runs: dict[str, dict[str, None]] = {}

    def table(match: re.Match[str]) -> str:
        lines, results = draw(match[2])
        for result in results:
            runs.setdefault(when(result), {})[f"`{result['command']}`"] = None
        numbers = sorted({list(runs).index(when(result)) + 1 for result in results})
        marks = ["", " ".join(f"[^{number}]" for number in numbers)] if numbers else []
        return "\n".join([match[1].strip(), *lines, *marks, match[3]])

    text = TABLE.sub(table, text)
    notes = [
        f"[^{number}]: {said}: {', '.join(commands)}\n"
        for number, (said, commands) in enumerate(runs.items(), start=1)
    ]
    if notes and not MARKS.search(text):
        text += "\n<!-- marks -->\n<!-- end -->\n"
    return MARKS.sub(lambda match: f"{match[1]}{''.join(notes)}{match[2]}", text)


def draw(name: str) -> Drawn:
    """Draw one table."""
    if name in DRAWN:
        return DRAWN[name]()
    result = load(name)
    return grid(result["rows"]), [result]


def when(one: dict[str, Any]) -> str:
    said = f"commit {one['commit']}, {one['processor']}, {one['date']}"
    return said + (f", {one['note']}" if "note" in one else "")


def accuracy(models: dict[str, str], corpora: Iterable[str], *keys: str) -> Drawn:
    """Draw a row for each corpus and a column for each model, and further keys of the last."""
    found = [load(f"accuracy-{name}") for name in corpora]
    rows = []
    for name, result in zip(corpora, found, strict=True):
        of = by(result, "model")
        row: dict[str, Any] = {"accuracy, %": CORPORA[name]}
        row |= {label: shown(of[model]) if model in of else "" for model, label in models.items()}
        rows.append(row | {f"its {key}": of[list(models)[-1]][key] for key in keys})
    return grid(rows), found


def hidden() -> Drawn:
    """Draw a row for each model of documents of which one of thirty sentences decides."""
    result = load("accuracy-one_of_thirty")
    rows = [
        {"": HIDDEN[row["model"]], "accuracy, %": shown(row), "log loss": row["log loss"]}
        for row in result["rows"]
    ]
    return grid(rows), [result]


def front() -> Drawn:
    """Draw a few rows for the front pages; their runs are on the page of benchmarks."""
    models = {name: MODELS[name] for name in ("tfidf", "han")}
    return accuracy(models, ["imdb-2000", "20news", "airline", "make_reviews"])[0], []


def characters(*corpora: str) -> Drawn:
    """Draw a row for each corpus, and what the model of characters adds to its accuracy."""
    found, rows = [load(f"characters-{name}") for name in corpora], []
    for name, result in zip(corpora, found, strict=True):
        of = by(result, "model")
        shown = {label: of.get(name, {}).get("accuracy, %") for name, label in CHARACTERS.items()}
        rows.append({"accuracy, %": name, **shown})
    return grid(rows), found


def audits(*keys: str) -> Drawn:
    """Draw a row for each corpus whose labels were audited: a key of each ranking, or some keys."""
    found, rows = [load(f"label_audit-{name}") for name in AUDITS], []
    for (name, corpus), result in zip(AUDITS.items(), found, strict=True):
        of = by(result, "ranked by")
        plain = of.pop("not audited", {})
        row: dict[str, Any] = {"": corpus, "labels made wrong": f"{name[-2:]} %"}
        if keys:
            row |= {key: of["audit_labels"][key] for key in keys}
            row["accuracy with its weights"] = of["audit_labels"].get("accuracy")
            rows.append(row | {"without": plain.get("accuracy")})
        else:
            rows.append(row | {label: one["average precision"] for label, one in of.items()})
    return grid(rows), found


def fits() -> Drawn:
    """Draw a row for each size of whole fits by the clock, and one with text without labels."""
    found = [load("fit_speed_clock"), load("fit_speed_unlabelled")]
    rows = []
    for documents in (1_000, 2_000, 25_000):
        tfidf, han, cheaper = (row for row in found[0]["rows"] if row["documents"] == documents)
        seconds = "seconds of a fit"
        rows.append(
            {
                "documents": f"{documents:,}",
                "TF-IDF + LR, s": tfidf[seconds],
                "`HANClassifier`, s": han[seconds],
                "ratio": han["ratio"],
                "cheaper, s": f"{cheaper[seconds]} ({cheaper['ratio']} x)",
                "epochs": han["epochs"],
            }
        )
    tfidf, han = found[1]["rows"]
    last = dict.fromkeys(rows[0]) | {
        "documents": "25,000, and 48,900 unlabelled, CPU s",
        "TF-IDF + LR, s": tfidf["CPU seconds of a fit"],
        "`HANClassifier`, s": han["CPU seconds of a fit"],
        "ratio": han["ratio"],
        "epochs": han["epochs"],
    }
    return grid([*rows, last]), found


def tagging() -> Drawn:
    """Draw both tasks of the tagger, a row for each model."""
    found = [load(f"tagging_{name}") for name in ("chunks", "parts")]
    rows = [one | two for one, two in zip(*(result["rows"] for result in found), strict=True)]
    return grid(rows), found


def unlabelled() -> Drawn:
    """Draw what text without labels brings, next to the same labels alone."""
    rows, found = [], []
    for name in UNLABELLED:
        found.append(load(f"unlabelled-{name}"))
        kinds = by(found[-1], "kind")
        alone = kinds.get("alone")
        if alone is None and name in CORPORA:
            found.append(load(f"accuracy-{name}"))
            alone = by(found[-1], "model")["han"]
        row: dict[str, Any] = {"accuracy, %": name, "labels alone": alone and shown(alone)}
        row["and text without labels"] = shown(kinds["without"])
        rows.append(row | {key: kinds["without"][key] for key in ("log loss", "calibration error")})
    return grid(rows), found


def peers(size: int, systems: Iterable[str] = PEERS) -> Drawn:
    """Draw a row for each system and a column for each corpus, of some labelled documents."""
    result, cells = peer_cells()
    rows = []
    for system in systems:
        row = {f"{size:,} labels": PEERS[system]}
        for corpus, title in PEER_CORPORA.items():
            row[title] = peer_score(cells, corpus, size, system)
        if any(list(row.values())[1:]):
            rows.append(row)
    return grid(rows), [result]


def peers_front() -> Drawn:
    """Draw a row for each corpus, of 1,000 labelled documents, for the front page."""
    _, cells = peer_cells()
    systems = ("tfidf", "characters", "minilm", "use", "han", "han-use", "han-texts")
    rows = [
        {"1,000 labels": title}
        | {PEERS[system]: peer_score(cells, corpus, 1_000, system) for system in systems}
        for corpus, title in PEER_CORPORA.items()
    ]
    return grid(rows), []


def peer_costs(size: int, *corpora: str) -> Drawn:
    """Draw what a fit and predictions cost, a row for each system."""
    result, cells = peer_cells()
    rows = []
    for system, title in PEERS.items():
        row: dict[str, Any] = {"": title}
        for corpus in corpora:
            one = cells.get((corpus, size, system), {})
            name = PEER_CORPORA[corpus]
            for key in PEER_COSTS:
                row[f"{name}: {key}"] = one.get(key) if one.get("micro F1") else None
        rows.append(row)
    return grid([row for row in rows if any(list(row.values())[1:])]), [result]


def peer_cells() -> tuple[dict[str, Any], dict[tuple[str, int, str], dict[str, Any]]]:
    """Give the stored result, and means over the seeds of each corpus, size and system."""
    result = load("peers")
    rows: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for row in result["rows"]:
        rows.setdefault((row["corpus"], row["documents"], row["system"]), []).append(row)
    cells = {}
    for key, found in rows.items():
        cells[key] = {}
        for measure, decimals in PEER_MEASURES.items():
            values = [one[measure] for one in found]
            cells[key][measure] = None if None in values else round(mean(values), decimals)
    return result, cells


def peer_score(cells: dict[Any, dict[str, Any]], corpus: str, size: int, system: str) -> str:
    """Give an accuracy, or two F1; in parentheses if the fit took ten times as long as ours."""
    one = cells.get((corpus, size, system))
    if one is None:
        return ""
    ours = cells.get((corpus, size, "han-texts"), {}).get("fit, CPU s")
    slow = ours is not None and one["fit, CPU s"] > 10 * ours
    if one["micro F1"] is None:
        return f"- ({one['fit, CPU s']:,.0f} s)"
    single = one["accuracy"]
    shown = f"{one['micro F1']:.1f}, {one['macro F1']:.1f}" if single is None else f"{single:.1f}"
    return f"({shown})" if slow else shown


def by(found: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in found["rows"]}


def shown(row: dict[str, Any]) -> str:
    return f"{row['accuracy']:.2f}" + (f" ± {row['spread']:.2f}" if row["runs"] > 1 else "")


DRAWN = {
    "accuracy": lambda: accuracy(MODELS, CORPORA, "log loss", "calibration error"),
    "audits": audits,
    "audits-first": lambda: audits("precision at 100", "expected at 100"),
    "fits": fits,
    "front": front,
    "hidden": hidden,
    "peers-100": lambda: peers(100),
    "peers-300": lambda: peers(300),
    "peers-1000": lambda: peers(1_000),
    "peers-5000": lambda: peers(5_000),
    "peers-front": peers_front,
    "peers-costs": lambda: peer_costs(1_000, "imdb", "airline"),
    "characters": lambda: characters("20news-1000", "airline", "nsmc-1000"),
    "pooling": lambda: accuracy(POOLINGS, ["imdb-1000", "airline", "make_reviews"]),
    "readings": lambda: accuracy(READINGS, ["20news", "airline", "imdb-2000"]),
    "tagging": tagging,
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
