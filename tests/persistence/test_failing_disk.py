"""Every call to the operating system fails in turn while models are saved."""

import numpy as np
import pytest

from sk_han import load, save
from tests.failing_disk import Disk, each_fault
from tests.tiny_models import UNSEEN, fitted_classifier


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def contents(fitted, tmp_path_factory):
    """The files of an old model and of a new one, as bytes."""
    paths = [tmp_path_factory.mktemp("saved") / name for name in ("old", "new")]
    for model, path in zip((fitted_classifier(random_state=1), fitted), paths, strict=True):
        save(model, path)
    return [path.read_bytes() for path in paths]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.han"


@pytest.fixture
def disk(tmp_path, monkeypatch):
    return Disk(tmp_path, monkeypatch)


class TestSave:
    @each_fault
    @pytest.mark.parametrize("is_there", [True, False], ids=["over a model", "at a new path"])
    def test_a_failed_call_leaves_the_old_model_or_the_new(
        self, fitted, contents, path, disk, fault, is_there
    ):
        expected = fitted.predict_proba(UNSEEN)
        old, new = ({path.name: content} for content in contents)
        old = old if is_there else {}

        def save_model():
            save(fitted, path)

        for error in disk.outcomes(save_model, lambda: disk.restore(old), **fault):
            disk.check_old_or_new(old, new, None if error is None else str(error))
        assert len(disk.calls) > 20
        for model in (fitted, load(path)):
            np.testing.assert_array_equal(model.predict_proba(UNSEEN), expected)

    def test_a_file_is_on_the_disk_before_it_replaces_another(self, fitted, path, disk):
        save(fitted, path)
        order = [name for name in disk.calls if name in ("write", "fsync", "replace")]
        assert [*dict.fromkeys(order)] == ["write", "fsync", "replace"]
        assert order[-2:] == ["fsync", "replace"]

    def test_short_writes_are_continued(self, fitted, contents, path, disk):
        disk.are_short = True
        save(fitted, path)
        assert path.read_bytes() == contents[1]
