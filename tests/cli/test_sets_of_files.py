"""What one command writes is replaced as a set or not at all, whatever write fails."""

import errno
import io
import os
import re
import sys
from itertools import count
from unittest.mock import Mock

import pytest

import sk_han
from sk_han._utils import files
from tests.cli.test_fitting import SMALL

ERRORS = [OSError(errno.ENOSPC, "No space left on device"), MemoryError(), KeyboardInterrupt()]
HOLD_OUT = ["--hold-out", "0.3"]


class Writes:
    """Every write of `files` to the disk: at number `fails` of these comes an error."""

    def __init__(self, monkeypatch):
        self.n, self.fails, self.error, self.look = 0, None, None, None
        for name in ("chmod", "fsync", "replace"):
            monkeypatch.setattr(os, name, self.plural(getattr(os, name)))
        monkeypatch.setattr(files, "open", self.open, raising=False)

    def open(self, *args):
        file = io.open(*args)  # noqa: UP020, SIM115 (whoever asked for it closes it)
        if "+" in args[1]:
            file.write = self.plural(file.write)
        return file

    def plural(self, function):
        def write(*args, **kwargs):
            if self.look is not None:
                self.look()
            self.n += 1
            if self.n == self.fails:
                raise self.error
            return function(*args, **kwargs)

        return write

    def fail(self, number, error):
        self.n, self.fails, self.error = 0, number, error


@pytest.fixture
def writes(monkeypatch):
    return Writes(monkeypatch)


@pytest.fixture
def fit(run, table, tmp_path):
    """Fit with a seed, and give the exit code and what was said."""
    data = table()

    def fit_with(seed, *options):
        arguments = ("fit", data, "-o", tmp_path / "m.han", *SMALL, "-f", "--seed", seed)
        code, _, told = run(*arguments, *options)
        return code, told

    return fit_with


@pytest.fixture
def lying(tmp_path):
    """Give the content of each file of the folder but the data, hidden ones too."""
    return lambda: {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != "data.csv"}


class TestFits:
    def test_an_interrupt_while_training_changes_nothing(self, fit, lying, monkeypatch):
        assert fit(0, *HOLD_OUT)[0] == 0
        before = lying()
        assert before.keys() == {"m.han", "m.train.csv", "m.test.csv"}

        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(sk_han.HANClassifier, "fit", interrupt)
        assert (fit(3, *HOLD_OUT)[0], lying()) == (130, before)

    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
    @pytest.mark.parametrize("options", [[], HOLD_OUT], ids=["alone", "hold-out"])
    def test_a_failed_write_leaves_the_old_set_complete(self, fit, lying, writes, options, error):
        assert fit(0, *options)[0] == 0
        before = lying()
        for number in count(1):
            writes.fail(number, error)
            code, told = fit(3, *options)
            if code == 0:
                break
            after = lying()
            assert {name: after.pop(name, None) for name in before} == before, number
            kept = re.findall(r"[^ ,:]+-[0-9a-f]{16}\.\w+", told)  # complete, but not put in place
            assert {os.path.basename(path) for path in kept} == after.keys(), number
            assert len(kept) in (0, len(before))
            for path in kept:
                os.remove(path)
        assert number > (6 if options else 3)
        new = lying()
        assert new.keys() == before.keys()
        assert all(new[name] != before[name] for name in new)

    def test_files_that_cannot_be_replaced_leave_a_usable_set(
        self, fit, run, lying, monkeypatch, tmp_path
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
        assert told.count(f"error: {tmp_path / 'm.han'}: Device or resource busy; what was ") == 1
        names = sorted(lying().keys() - before.keys())
        model, held_out, learnt = (tmp_path / name for name in names)
        assert (held_out.name[:7], learnt.name[:8]) == ("m.test-", "m.train-")
        assert run("evaluate", model, held_out)[0] == 0
        assert {name: lying()[name] for name in before} == before

    def test_a_kill_mixes_no_files_of_two_fits(self, fit, lying, writes):
        assert fit(0, *HOLD_OUT)[0] == 0
        before, seen = lying(), []
        writes.look = lambda: seen.append(lying())  # what would lie there after a kill
        assert fit(3, *HOLD_OUT)[0] == 0
        new = lying()
        for each in seen:
            there = {name: each[name] for name in new if name in each}
            assert there.items() <= before.items() or there.items() <= new.items()
            assert {*before.values()} <= {*each.values()} or new.items() <= each.items()


class TestAudits:
    def test_an_interrupted_audit_leaves_the_earlier_files_unchanged(
        self, run, table, tmp_path, lying, writes
    ):
        page, decisions = tmp_path / "page.html", tmp_path / "decisions.csv"
        arguments = ("audit", table(), *SMALL, "-f", "-o", page, "--csv", decisions)
        assert run(*arguments)[0] == 0
        before = lying()
        assert before.keys() == {"page.html", "decisions.csv"}
        for number in count(1):
            writes.fail(number, KeyboardInterrupt())
            if run(*arguments, "--seed", 3)[0] == 0:
                break
            assert lying() == before
        assert number > 6

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
