"""The tables of the pages are those that stored results of benchmarks draw."""

import json
import re
import shlex

import figures
import pytest
import results
import tables

ONE = {
    "command": "python benchmarks/a.py",
    "commit": "abc",
    "processor": "one",
    "date": "2026-01-02",
}


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Keep results in a folder of the test's own."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_a_page_holds_what_the_results_draw(page):
    text = page.read_text("utf-8")
    assert tables.drawn(text) == text, "run python benchmarks/tables.py"


def test_pages_show_the_command_of_every_stored_result():
    texts = "".join(page.read_text("utf-8") for page in tables.PAGES)
    for path in results.FOLDER.glob("*.json"):
        found = results.load(path.stem)
        assert found["command"] in texts
        script = next(word for word in shlex.split(found["command"]) if word.endswith(".py"))
        assert "add_save(parser)" in (results.ROOT / script).read_text("utf-8")


def test_tables_of_the_benchmarks_page_are_all_drawn():
    text = (results.ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert not re.search(r"^\|", tables.TABLE.sub("", text), re.MULTILINE)


def test_a_table_worked_by_hand(stored):
    rows = [{"": "few", "n": 1000, "s": 0.5}, {"": "many", "n": 2, "s": 12.25}]
    (stored / "times.json").write_text(json.dumps(ONE | {"note": "on a laptop", "rows": rows}))
    page = "A\n<!-- table: times -->\nold\n<!-- end -->\nB\n"
    drawn = tables.drawn(page)
    assert drawn.splitlines() == [
        "A",
        "<!-- table: times -->",
        "|  | n | s |",
        "|---|--:|--:|",
        "| few | 1,000 | 0.50 |",
        "| many | 2 | 12.25 |",
        "",
        "[^1]",
        "<!-- end -->",
        "B",
        "",
        "<!-- marks -->",
        "[^1]: commit abc, one, 2026-01-02, on a laptop: `python benchmarks/a.py`",
        "<!-- end -->",
    ]
    assert tables.drawn(drawn) == drawn


def peer(system, seed, accuracy, seconds, commit):
    measures = {"micro F1": accuracy, "macro F1": accuracy, "fit, CPU s": seconds}
    costs = {"prediction, CPU s": 0.25, "peak MB": 100, "model MB": 1.5}
    key = {"corpus": "imdb", "documents": 100, "system": system, "seed": seed, "commit": commit}
    return key | {"accuracy": accuracy} | measures | costs


def test_peers_are_means_over_samples_and_slow_fits_are_in_parentheses(stored):
    rows = [peer("han-texts", 0, 70.0, 1.0, "b"), peer("han-texts", 1, 71.0, 2.0, "c")]
    rows += [peer("setfit", 0, 80.0, 16.0, "a"), peer("tfidf", 0, 60.0, 0.5, "a")]
    (stored / "peers.json").write_text(json.dumps(ONE | {"rows": rows}))
    assert [line.split("|")[1:3] for line in tables.draw("peers-100")[0]] == [
        [" 100 labels ", " IMDB "],
        ["---", "---"],
        [" with texts without labels ", " 70.5 "],
        [" TF-IDF(1-2) + LR ", " 60.0 "],
        [" SetFit, MiniLM-L6 ", " (80.0) "],
    ]
    assert figures.commits(results.load("peers")) == {"b", "c"}  # others no change makes old


def test_results_record_command_commit_processor_and_date(stored, monkeypatch):
    script = str(results.ROOT / "benchmarks" / "accuracy.py")
    monkeypatch.setattr("sys.argv", [script, "--data", "a b", "--save"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    results.save("one", [{"a": 1}])
    found = results.load("one")
    assert found["command"] == "OMP_NUM_THREADS=1 python benchmarks/accuracy.py --data 'a b'"
    assert found["rows"] == [{"a": 1}]
    assert set(found) == {"command", "commit", "processor", "date", "rows"}
