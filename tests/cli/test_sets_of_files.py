"""What one command writes is replaced as a set or not at all, whatever call fails."""

import errno
import os
import sys
from unittest.mock import Mock

import pytest

import sk_han
from tests.cli.test_fitting import SMALL
from tests.failing_disk import Disk, each_fault, each_kind_of_fault
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier

HOLD_OUT = ["--hold-out", "0.3"]


@pytest.fixture
def folder(tmp_path):
    """The folder of the files that are written."""
    (tmp_path / "written").mkdir()
    return tmp_path / "written"


@pytest.fixture
def disk(folder, monkeypatch):
    return Disk(folder, monkeypatch)


@pytest.fixture
def lying(folder):
    """Give the content of each file of the folder, hidden ones too."""
    return lambda: {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def fitted():
    """Classifiers by their seed."""
    return {seed: fitted_classifier(random_state=seed) for seed in (0, 3)}


@pytest.fixture
def fit(run, table, folder, fitted, monkeypatch):
    """Fit with a seed, without training, and give the exit code and what was said."""
    data = table()

    def adopt(self, *args, **kwargs):
        vars(self).update(vars(fitted[self.random_state]))

    monkeypatch.setattr(sk_han.HANClassifier, "fit", adopt)

    def fit_with(seed, *options):
        arguments = ("fit", data, "-o", folder / "m.han", *SMALL, "-f", "--seed", seed)
        code, _, told = run(*arguments, *options)
        return code, told

    return fit_with


def check_failures(disk, run, old, new, fault):
    """Let each call of a command fail that replaces the old files by the new ones."""
    for code, told in disk.outcomes(run, lambda: disk.restore(old), **fault):
        disk.check_old_or_new(old, new, told if code else None)
        assert code in (0, 130 if fault["fault"] is KeyboardInterrupt else 1)
        if code == 1 and fault["fault"] is not MemoryError and not disk.is_lasting:
            names = [disk.folder, *(disk.folder / name for name in new)]
            assert any(f"error: {name}: " in told for name in names), told
        assert "Traceback" not in told
    assert len(disk.calls) > 15


class TestFits:
    def test_an_interrupt_while_training_changes_nothing(self, fit, lying, monkeypatch):
        assert fit(0, *HOLD_OUT)[0] == 0
        before = lying()
        assert before.keys() == {"m.han", "m.train.csv", "m.test.csv"}

        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(sk_han.HANClassifier, "fit", interrupt)
        assert (fit(3, *HOLD_OUT)[0], lying()) == (130, before)

    @each_kind_of_fault
    def test_a_failed_call_leaves_the_old_set_or_the_new(self, fit, lying, disk, fault):
        assert fit(0, *HOLD_OUT)[0] == 0
        old = lying()
        assert fit(3, *HOLD_OUT)[0] == 0
        new = lying()
        assert all(new[name] != old[name] for name in new)
        check_failures(disk, lambda: fit(3, *HOLD_OUT), old, new, fault)

    def test_files_that_cannot_be_replaced_leave_a_usable_set(
        self, fit, run, lying, monkeypatch, folder
    ):
        assert fit(0, *HOLD_OUT)[0] == 0
        before, replace = lying(), os.replace

        def mounted(source, target):  # as a file alone in a container
            if "m.han" in map(os.path.basename, (source, target)):
                raise OSError(errno.EBUSY, "Device or resource busy", source, None, target)
            replace(source, target)

        monkeypatch.setattr(os, "replace", mounted)
        code, told = fit(3, *HOLD_OUT)
        assert code == 1
        assert told.count(f"error: {folder / 'm.han'}: Device or resource busy; what was ") == 1
        names = sorted(lying().keys() - before.keys())
        model, held_out, learnt = (folder / name for name in names)
        assert (held_out.name[:7], learnt.name[:8]) == ("m.test-", "m.train-")
        assert run("evaluate", model, held_out)[0] == 0
        assert {name: lying()[name] for name in before} == before

    def test_a_kill_mixes_no_files_of_two_fits(self, fit, lying, disk):
        assert fit(0, *HOLD_OUT)[0] == 0
        before, seen = lying(), []
        disk.look = lambda: seen.append(lying())  # what would lie there after a kill
        assert fit(3, *HOLD_OUT)[0] == 0
        disk.look = None
        new = lying()
        for each in seen:
            there = {name: each[name] for name in new if name in each}
            assert there.items() <= before.items() or there.items() <= new.items()
            assert {*before.values()} <= {*each.values()} or new.items() <= each.items()


class TestAudits:
    @each_kind_of_fault
    def test_a_failed_call_leaves_the_old_set_or_the_new(
        self, run, table, folder, lying, disk, monkeypatch, fault
    ):
        result = sk_han.audit_labels(fitted_classifier(), TEXTS, LABELS)
        monkeypatch.setattr(sk_han, "audit_labels", lambda *args, **kwargs: result)
        page, decisions = folder / "page.html", folder / "decisions.csv"
        arguments = ("audit", table(), *SMALL, "-f", "-o", page, "--csv", decisions)

        def audit():
            code, _, told = run(*arguments)
            return code, told

        assert audit()[0] == 0
        new, old = lying(), {"page.html": b"old page", "decisions.csv": b"old decisions"}
        check_failures(disk, audit, old, new, fault)

    @pytest.mark.parametrize("second", ["same", "./same", "link"])
    def test_two_outputs_of_one_name_are_refused(self, run, table, tmp_path, monkeypatch, second):
        monkeypatch.chdir(tmp_path)
        os.symlink("same", "link")
        code, output, told = run("audit", table(), "-o", "same", "--csv", second, "-f")
        assert (code, output) == (2, "")
        assert told == f"sk-han: error: {second} is both -o and --csv; give another name for one.\n"
        assert not os.path.exists("same")

    def test_a_closed_pipe_loses_no_decisions(self, run, table, tmp_path, monkeypatch):
        monkeypatch.setattr(sys.stdout, "write", Mock(side_effect=BrokenPipeError))
        assert run("audit", table(), *SMALL, "--csv", tmp_path / "decisions.csv")[0] == 141
        assert (tmp_path / "decisions.csv").exists()


@each_fault
@pytest.mark.parametrize(
    ("command", "name"),
    [("predict", "out.csv"), ("predict", "out.tsv.gz"), ("explain", "out.html")],
)
def test_a_failed_call_leaves_the_old_output_or_the_new(
    run, model, table, folder, lying, disk, command, name, fault
):
    rows = [(i, text, "pos") for i, text in enumerate(UNSEEN[:3])]
    arguments = (command, model, table(rows), "-o", folder / name, "-f")

    def write():
        code, _, told = run(*arguments)
        return code, told

    assert write()[0] == 0
    check_failures(disk, write, {name: b"old"}, lying(), fault)


def test_an_excel_sheet_that_cannot_be_written_is_one_line(run, model, table, folder, disk):
    path = folder / "out.xlsx"
    arguments = ("predict", model, table([(0, "Good.", "pos")]), "-o", path, "-f")

    def restore():
        disk.restore({})

    for code, _, told in disk.outcomes(lambda: run(*arguments), restore, errno.ENOSPC):
        errors = [line for line in told.splitlines() if "error: " in line]
        assert len(errors) == code
        assert "Traceback" not in told
    assert path.read_bytes()[:2] == b"PK"
    assert [*folder.iterdir()] == [path]
