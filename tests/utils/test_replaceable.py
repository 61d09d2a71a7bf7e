"""What is told before a file is written."""

import os

import pytest

import sk_han
from sk_han._utils.files import check_replaceable


def test_existing_files_need_force_unless_models_replace_models(tmp_path):
    table, empty, model = (tmp_path / name for name in ("a.csv", "b.csv", "c.han"))
    table.write_text("text\nGood.\n")
    empty.touch()
    sk_han.save(sk_han.HierarchicalTokenizer().fit(["Good."]), model)
    for path, by_model in [(table, False), (table, True), (model, False)]:
        with pytest.raises(FileExistsError, match=r"exists.*another name, or --yes to repl"):
            check_replaceable(path, "--yes", by_model=by_model)
        check_replaceable(path)
    check_replaceable(empty, "--yes")
    check_replaceable(model, "--yes", by_model=True)
    sk_han.save(sk_han.load(model), table, overwrite=True)
    sk_han.save(sk_han.load(table), model)


def test_an_unwritable_folder_is_reported_before_training(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        check_replaceable(tmp_path / "nowhere" / "model.han")
    ends = os.pipe()
    try:
        with pytest.raises(OSError, match="is a device or a pipe"):
            check_replaceable(f"/dev/fd/{ends[1]}")
    finally:
        for end in ends:
            os.close(end)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="no permission to write"):
        check_replaceable(tmp_path / "model.han")
    assert os.listdir(tmp_path) == []
