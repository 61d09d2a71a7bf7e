"""What is told before a file is written."""

import os

import pytest

import sk_han
from sk_han._utils.files import check_replaceable


class TestWhatIsToldBefore:
    def test_nothing_is_touched_or_made(self, tmp_path):
        path = tmp_path / "model.han"
        path.write_bytes(b"old")
        check_replaceable(path)
        check_replaceable(tmp_path / "new.han")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["model.han"]

    def test_what_is_no_model_is_replaced_by_force_alone(self, tmp_path):
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
        with pytest.raises(FileExistsError, match=r"not a model\. .* or overwrite=True to replace"):
            sk_han.save(sk_han.load(model), table)
        assert table.read_text() == "text\nGood.\n"
        sk_han.save(sk_han.load(model), table, overwrite=True)
        sk_han.save(sk_han.load(table), model)

    def test_a_missing_folder_is_an_error(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="There is no folder"):
            check_replaceable(tmp_path / "nowhere" / "model.han")

    def test_a_folder_that_cannot_be_written_to_is_an_error(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(PermissionError, match="no permission to write"):
            check_replaceable(tmp_path / "model.han")

    def test_a_link_to_a_pipe_without_a_name_is_refused_before_anything_is_written(self):
        ends = os.pipe()
        path = f"/dev/fd/{ends[1]}"
        try:
            if not os.path.exists(path):
                pytest.skip("there is no /dev/fd here")
            with pytest.raises(OSError, match="is a device or a pipe"):
                check_replaceable(path)
        finally:
            for end in ends:
                os.close(end)
