"""Every call to the operating system fails in turn while models and tables are saved or loaded."""

from os import replace

import numpy as np
import pandas as pd
import pytest

from sk_han import ModelFormatError, load, save
from sk_han.datasets import load_csv
from sk_han.serving import Scorer
from tests.failing_disk import Disk, each_fault
from tests.tiny_models import LABELS, TEXTS, UNSEEN, fitted_classifier

each_reader = pytest.mark.parametrize("read", [load, Scorer.load])


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


def check_error(error, path, disk):
    """Check that an error names the file, or its folder, if nothing can be found out about that."""
    names = (getattr(error, "filename", None), str(error))
    if isinstance(error, (OSError, ValueError)) and not any(str(path) in str(n) for n in names):
        assert (error.filename, disk.failed) == (str(path.parent), ["stat"])


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
            if not disk.is_lasting:
                check_error(error, path, disk)
        assert {"open", "write", "fsync", "replace", "close"} <= {*disk.calls}
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


@each_reader
class TestLoad:
    @each_fault
    def test_a_failed_call_is_an_error_that_names_the_file(self, contents, path, disk, read, fault):
        def restore():
            disk.restore({path.name: contents[1]})

        for outcome in disk.outcomes(lambda: read(path), restore, **fault):
            assert isinstance(outcome, BaseException) == bool(disk.failed)
            check_error(outcome, path, disk)
        assert "read" in disk.calls

    def test_a_file_that_ends_while_it_is_read_is_refused(self, contents, path, disk, read):
        path.write_bytes(contents[1])
        outcomes = [*disk.outcomes(lambda: read(path), lambda: None, "end")]
        # The last read of a file finds its end.
        for error in outcomes[:-2]:
            assert isinstance(error, ModelFormatError)
            check_error(error, path, disk)
        assert len(outcomes) > 3

    def test_a_file_that_is_replaced_at_any_call_is_the_old_or_the_new(
        self, contents, path, disk, read
    ):
        other, found = path.with_name("other.han"), []
        calls_left = 0

        def replace_in_time():
            nonlocal calls_left
            calls_left -= 1
            if calls_left == 0:
                replace(other, path)

        while calls_left <= 0:
            path.write_bytes(contents[0])
            other.write_bytes(contents[1])
            disk.look, calls_left = replace_in_time, len(found) + 1
            found.append(read(path).predict_proba(UNSEEN).tolist())
            disk.look = None
        old, new = found[-1], found[0]
        assert old != new
        assert [*map([new, old].index, found)] == sorted(map([new, old].index, found))

    def test_short_reads_are_continued(self, fitted, contents, path, disk, read):
        path.write_bytes(contents[1])
        disk.are_short = True
        probabilities = read(path).predict_proba(UNSEEN)
        np.testing.assert_allclose(probabilities, fitted.predict_proba(UNSEEN), atol=1e-6)


@each_fault
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.xlsx"])
def test_a_table_that_cannot_be_read_is_named(tmp_path, disk, name, fault):
    path, frame = tmp_path / name, pd.DataFrame({"text": TEXTS, "label": LABELS})
    (frame.to_excel if name.endswith(".xlsx") else frame.to_csv)(path, index=False)
    for outcome in disk.outcomes(lambda: load_csv(path), lambda: None, **fault):
        assert isinstance(outcome, BaseException) == bool(disk.failed)
        check_error(outcome, path, disk)
    assert "read" in disk.calls
    assert outcome[0] == TEXTS
