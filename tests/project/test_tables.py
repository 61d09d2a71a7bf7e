"""The tables of the pages are those that stored results of benchmarks draw."""

import json
import re
import shlex

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


def test_results_record_command_commit_processor_and_date(stored, monkeypatch):
    script = str(results.ROOT / "benchmarks" / "accuracy.py")
    monkeypatch.setattr("sys.argv", [script, "--data", "a b", "--save"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    results.save("one", [{"a": 1}])
    found = results.load("one")
    assert found["command"] == "OMP_NUM_THREADS=1 python benchmarks/accuracy.py --data 'a b'"
    assert found["rows"] == [{"a": 1}]
    assert set(found) == {"command", "commit", "processor", "date", "rows"}
