import copy
import os
import signal
import subprocess
import sys

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
    def test_it_predicts_the_same_bits(self, fitted, elsewhere):
        found = np.load(elsewhere[0] / "probabilities.npy")
        np.testing.assert_array_equal(found, fitted.predict_proba(UNSEEN))

    def test_two_that_save_at_once_leave_one_whole_file(self, elsewhere):
        folder, ended = elsewhere
        assert ended.stdout.split() == ["0", "0"]
        assert sorted(load(folder / "contested.han").vocabulary_) in (["0", "word"], ["1", "word"])
        assert [name for name in os.listdir(folder) if "contested" in name] == ["contested.han"]

    def test_one_that_is_killed_while_it_saves_leaves_the_old_file(self, fitted, elsewhere):
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
    @pytest.mark.parametrize("function", ["fsync", "replace"])
    @pytest.mark.parametrize(
        "error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr
    )
    def test_an_error_leaves_the_old_file_and_nothing_else(
        self, saved, monkeypatch, function, error
    ):
        before = saved.read_bytes()
        monkeypatch.setattr(os, function, Broken(error))
        with pytest.raises(type(error)):
            save_another(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == ["model.han"]

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_an_error_of_the_system_names_the_file(self, saved, monkeypatch, function):
        monkeypatch.setattr(os, function, Broken(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match=r"No space left on device: .*model\.han'$"):
            save_another(saved)

    def test_what_ended_processes_left_is_removed_and_nothing_else(self, saved):
        left, in_use, young, link = (saved.with_name(f".sk_han-{i}.tmp") for i in range(4))
        for path in (left, in_use, young):
            path.write_bytes(b"some")
        link.symlink_to(saved)
        for path in (left, in_use):
            os.utime(path, (0, 0))
        with in_use.open("rb") as file:
            fcntl = pytest.importorskip("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX)
            save_another(saved)
            expected = [link.name, in_use.name, young.name, saved.name]
            assert sorted(os.listdir(saved.parent)) == sorted(expected)

    def test_a_file_that_took_long_to_flush_is_not_taken_for_left(self, saved, monkeypatch):
        before, replace = saved.read_bytes(), os.replace

        def replace_after_another(unfinished, target):
            monkeypatch.undo()
            save_another(saved.with_name("another.han"))
            replace(unfinished, target)

        monkeypatch.setattr(os, "fsync", lambda number: os.utime(number, (0, 0)))
        monkeypatch.setattr(os, "replace", replace_after_another)
        save_another(saved)
        assert saved.read_bytes() != before

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self, saved):
        resource = pytest.importorskip("resource")
        before = saved.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(OSError, match=r"too large: .*model\.han'$"):
                save_another(saved)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == ["model.han"]

    @pytest.mark.parametrize(
        ("path", "error", "message"),
        [
            ("absent/model.han", FileNotFoundError, r"no folder .*absent; make it"),
            (".", IsADirectoryError, "name of a file"),
            (3, TypeError, "name of a file, after the model; got an int"),
        ],
    )
    def test_what_names_no_file_is_refused(self, tmp_path, monkeypatch, path, error, message):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(error, match=message):
            save_another(path)

    def test_a_device_is_not_replaced(self, fitted):
        if not os.path.exists("/dev/full"):
            pytest.skip("there is no /dev/full here")
        with pytest.raises(OSError, match="device"):
            save(fitted, "/dev/full")
        assert not os.path.isfile("/dev/full")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
    def test_a_folder_without_the_right_to_write_is_an_error(self, saved):
        before = saved.read_bytes()
        saved.parent.chmod(0o500)
        try:
            with pytest.raises(PermissionError):
                save_another(saved)
        finally:
            saved.parent.chmod(0o700)
        assert saved.read_bytes() == before


class TestTheFile:
    def test_an_existing_file_keeps_its_rights(self, fitted, tmp_path):
        path = tmp_path / "model.han"
        save(fitted, path)
        path.chmod(0o600)
        save(fitted, path)
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_model_that_could_not_be_loaded_replaces_none(self, fitted, tmp_path):
        path = tmp_path / "model.han"
        save(fitted, path)
        broken = with_model(copy.deepcopy(fitted), history=["no epoch"])
        with pytest.raises(ValueError, match="history"):
            save(broken, path)
        assert load(path).history_ == fitted.history_

    def test_it_has_the_rights_of_any_new_file(self, saved):
        other = saved.with_name("other")
        other.write_text("")
        assert saved.stat().st_mode == other.stat().st_mode

    def test_a_link_goes_on_pointing_at_the_file(self, saved):
        link = saved.with_name("link.han")
        link.symlink_to(saved)
        save_another(link)
        assert link.is_symlink()
        assert isinstance(load(saved), HierarchicalTokenizer)

    def test_a_long_name_is_no_obstacle(self, tmp_path):
        path = tmp_path / ("m" * 240 + ".han")
        save_another(path)
        assert isinstance(load(path), HierarchicalTokenizer)

    def test_a_nul_in_the_name_is_an_error_of_the_name(self, tmp_path):
        with pytest.raises(ValueError, match="null"):
            save_another(f"{tmp_path}/model\0.han")
        assert os.listdir(tmp_path) == []
