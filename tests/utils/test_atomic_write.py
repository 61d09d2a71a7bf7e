import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sk_han import HierarchicalTokenizer, load, save
from tests.tiny_models import TEXTS, UNSEEN, fitted_classifier, with_model

IN_ANOTHER_PROCESS = """
import os, signal, sys
import numpy as np
import sk_han

os.chdir(sys.argv[1])
model = sk_han.load("model.han")
np.save("probabilities.npy", model.predict_proba(sys.argv[2:]))

children = []
for number in range(2):
    children.append(os.fork())
    if children[-1] == 0:
        tokenizer = sk_han.HierarchicalTokenizer(vocabulary=[str(number), "word"])
        tokenizer.fit(["word"])
        for _ in range(100):
            sk_han.save(tokenizer, "contested.han")
        os._exit(0)
print(*(os.waitpid(child, 0)[1] for child in children))

sys.stdout.flush()
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
sk_han.save(model.partial_fit(sys.argv[2:4], model.classes_), "model.han")
"""


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def elsewhere(fitted, tmp_path_factory):
    """Run a process that loads, saves in two children at once, and is killed while it saves."""
    if not hasattr(os, "fork"):
        pytest.skip("the children are forked")
    folder = tmp_path_factory.mktemp("elsewhere")
    save(fitted, folder / "model.han")
    ended = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, str(folder), *UNSEEN],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return folder, ended


@pytest.mark.thorough
class TestAnotherProcess:
    def test_another_process_predicts_the_same_bits(self, fitted, elsewhere):
        found = np.load(elsewhere[0] / "probabilities.npy")
        np.testing.assert_array_equal(found, fitted.predict_proba(UNSEEN))

    def test_two_processes_saving_at_once_leave_one_whole_file(self, elsewhere):
        folder, ended = elsewhere
        assert ended.stdout.split() == ["0", "0"]
        assert sorted(load(folder / "contested.han").vocabulary_) in (["0", "word"], ["1", "word"])
        assert [name for name in os.listdir(folder) if "contested" in name] == ["contested.han"]

    def test_a_killed_process_leaves_the_old_file(self, fitted, elsewhere):
        folder, ended = elsewhere
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        found = load(folder / "model.han").predict_proba(UNSEEN)
        np.testing.assert_array_equal(found, fitted.predict_proba(UNSEEN))


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.han"
    save(fitted, path)
    return path


def save_another(path):
    save(HierarchicalTokenizer().fit(TEXTS), path)


class Broken:
    """Raise as a failing disk would."""

    def __init__(self, error):
        self.error = error

    def __call__(self, *args, **kwargs):
        raise self.error


class TestAccidents:
    @pytest.mark.parametrize(
        ("function", "error", "message"),
        [
            ("fsync", OSError(28, "No space left on device"), r"No space .*: .*model\.han'$"),
            ("fsync", KeyboardInterrupt(), None),
            ("replace", KeyboardInterrupt(), None),
        ],
    )
    def test_an_error_leaves_the_old_file_and_nothing_else(
        self, saved, monkeypatch, function, error, message
    ):
        before = saved.read_bytes()
        monkeypatch.setattr(os, function, Broken(error))
        with pytest.raises(type(error), match=message):
            save_another(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == ["model.han"]

    def test_a_file_that_cannot_be_moved_is_kept(self, saved, monkeypatch):
        before = saved.read_bytes()
        monkeypatch.setattr(os, "replace", Broken(OSError(16, "Device or resource busy")))
        with pytest.raises(
            OSError, match=r"busy; what .* kept in (.*\.han): .*model\.han'$"
        ) as info:
            save_another(saved)
        assert saved.read_bytes() == before
        (kept,) = {*saved.parent.iterdir()} - {saved}
        assert str(kept) in str(info.value)
        assert isinstance(load(kept), HierarchicalTokenizer)

    def test_only_old_temporary_files_are_removed(self, saved):
        left, in_use, link = (saved.with_name(f".sk_han-{i}.tmp") for i in range(3))
        for path, minutes in ((left, 61), (in_use, 59)):
            path.write_bytes(b"some")
            os.utime(path, 2 * (time.time() - 60 * minutes,))
        link.symlink_to(saved)
        save_another(saved)
        assert sorted(os.listdir(saved.parent)) == sorted([link.name, in_use.name, saved.name])

    @pytest.mark.parametrize(
        ("path", "error", "message"),
        [
            ("absent/model.han", FileNotFoundError, r"no folder .*absent; make it"),
            (".", IsADirectoryError, "name of a file"),
            (3, TypeError, "name of a file, after the model; got an int"),
            ("/dev/full", OSError, "device"),
            ("model.csv", FileExistsError, r"not a model\. .* or overwrite=True to replace"),
        ],
    )
    def test_a_path_that_cannot_be_a_file_is_refused(
        self, tmp_path, monkeypatch, path, error, message
    ):
        monkeypatch.chdir(tmp_path)
        Path("model.csv").write_text("text\nGood.\n")
        with pytest.raises(error, match=message):
            save_another(path)
        assert Path("model.csv").read_text() == "text\nGood.\n"


class TestTheFile:
    def test_an_unloadable_model_does_not_replace_an_earlier_one(self, fitted, tmp_path):
        path = tmp_path / "model.han"
        save(fitted, path)
        broken = with_model(copy.deepcopy(fitted), history=["no epoch"])
        with pytest.raises(ValueError, match="history"):
            save(broken, path)
        assert load(path).history_ == fitted.history_

    def test_permissions_and_links_are_kept(self, saved):
        usual = saved.with_name("other")
        usual.write_text("")
        assert saved.stat().st_mode == usual.stat().st_mode
        saved.chmod(0o600)
        link = saved.with_name("link.han")
        link.symlink_to(saved)
        save_another(link)
        assert link.is_symlink()
        assert isinstance(load(saved), HierarchicalTokenizer)
        assert saved.stat().st_mode & 0o777 == 0o600
