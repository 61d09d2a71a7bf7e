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


def test_every_stored_result_is_drawn_and_its_command_can_store_it():
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
        "| --- | --- | --- |",
        "| few | 1,000 | 0.50 |",
        "| many | 2 | 12.25 |",
        "",
        "*`python benchmarks/a.py`: commit abc, one, 2026-01-02, on a laptop.*",
        "<!-- end -->",
        "B",
    ]
    assert tables.drawn(drawn) == drawn


def test_commits_stand_once_at_the_marks_of_a_page(stored):
    for name in "ab":
        (stored / f"{name}.json").write_text(json.dumps(ONE | {"rows": [{name: 1}]}))
    tables_of = [f"<!-- table: {name} -->\n<!-- end -->\n" for name in "ab"]
    drawn = tables.drawn("".join([*tables_of, "<!-- marks -->\n<!-- end -->\n"]))
    assert drawn.count("*`python benchmarks/a.py` [1]*") == 2
    assert drawn.endswith("<!-- marks -->\n1. commit abc, one, 2026-01-02\n<!-- end -->\n")
    assert tables.drawn(drawn) == drawn


def test_results_say_where_they_come_from(stored, monkeypatch):
    script = str(results.ROOT / "benchmarks" / "accuracy.py")
    monkeypatch.setattr("sys.argv", [script, "--data", "a b", "--save"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    results.save("one", [{"a": 1}])
    found = results.load("one")
    assert found["command"] == "OMP_NUM_THREADS=1 python benchmarks/accuracy.py --data 'a b'"
    assert found["rows"] == [{"a": 1}]
    assert set(found) == {"command", "commit", "processor", "date", "rows"}


def test_check_names_the_page_that_differs(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- table: front -->\nold\n<!-- end -->\n", "utf-8")
    monkeypatch.setattr(tables, "PAGES", [page])
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    with pytest.raises(SystemExit, match=r"page\.md"):
        tables.main()
    monkeypatch.setattr("sys.argv", ["tables.py"])
    tables.main()
    assert "HANClassifier" in page.read_text("utf-8")
