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


def test_tables_of_one_commit_share_a_mark(stored):
    for name in "abc":
        one = ONE | {"command": f"python benchmarks/{name}.py", "rows": [{name: 1}]}
        one |= {"commit": "other"} if name == "b" else {}
        (stored / f"{name}.json").write_text(json.dumps(one))
    tables_of = [f"<!-- table: {name} -->\n<!-- end -->\n" for name in "abc"]
    drawn = tables.drawn("".join(tables_of))
    assert re.findall(r"^\[\^.\]$", drawn, re.MULTILINE) == ["[^1]", "[^2]", "[^1]"]
    assert drawn.endswith(
        "<!-- marks -->\n"
        "[^1]: commit abc, one, 2026-01-02: `python benchmarks/a.py`, `python benchmarks/c.py`\n"
        "[^2]: commit other, one, 2026-01-02: `python benchmarks/b.py`\n"
        "<!-- end -->\n"
    )
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
