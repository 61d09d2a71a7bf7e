"""Checkpoints that are damaged, foreign, or made to do harm."""

import copy
import io
import math
import os
import pickle
import shutil
import sys

import numpy as np
import pytest

from sk_han import ModelFormatError
from sk_han.storage.archive import read_archive, write_archive
from sk_han.storage.json_values import from_plain, to_plain
from tests.crafted_files import paths, sealed, set_at, without
from tests.interrupted_fits import classifier_of, file_of, stop_fit
from tests.tiny_models import LABELS, TEXTS

STEP = 14  # of the third epoch
PARAMS = {"n_iter_no_change": 3, "max_epochs": 3}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Give the bytes of a whole checkpoint."""
    folder = tmp_path_factory.mktemp("fit")
    stop_fit(classifier_of(**PARAMS), folder, step=STEP)
    return file_of(folder).read_bytes()


@pytest.fixture
def go_on(tmp_path):
    """Give a function that fits with a checkpoint of these bytes."""

    def go_on(content):
        file_of(tmp_path).write_bytes(content)
        return classifier_of(**PARAMS).fit(TEXTS, LABELS, checkpoint=tmp_path)

    return go_on


def refused(go_on, content, match=r"checkpoint\.han.* Delete it to begin the fit anew"):
    with pytest.raises(ModelFormatError, match=match):
        go_on(content)


def content_of(whole):
    description, arrays = read_archive(io.BytesIO(whole))
    return from_plain(description, arrays)


def file_with(content):
    """Write a checkpoint that holds something else, with the seal that belongs to it."""
    arrays, file = {}, io.BytesIO()
    description = to_plain(content, arrays)
    write_archive(file, description, arrays)
    return file.getvalue()


class TestAccidents:
    def test_one_that_is_cut_off_is_refused(self, whole, go_on):
        for length in (0, 1, 100, len(whole) // 2, len(whole) - 65, len(whole) - 1):
            refused(go_on, whole[:length])

    def test_a_changed_bit_is_found(self, whole, go_on):
        for position in (0, 60, len(whole) // 3, len(whole) // 2, len(whole) - 1):
            content = bytearray(whole)
            content[position] ^= 4
            refused(go_on, bytes(content))

    @pytest.mark.parametrize("content", [b"\x89PNG\r\n" + bytes(500), b"PK", b"text,label\n"])
    def test_a_foreign_file_is_refused(self, content, go_on):
        refused(go_on, content)

    def test_a_pickle_is_not_unpickled(self, go_on, tmp_path):
        class Trap:
            def __reduce__(self):
                return (os.mkdir, (str(tmp_path / "sprung"),))

        refused(go_on, pickle.dumps(Trap()))
        assert not (tmp_path / "sprung").exists()

    def test_a_pipe_is_refused_without_waiting_for_a_writer(self, tmp_path):
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes here")
        os.mkfifo(file_of(tmp_path))
        with pytest.raises(OSError, match="is a device or a pipe"):
            classifier_of(**PARAMS).fit(TEXTS, LABELS, checkpoint=tmp_path)

    def test_a_refused_file_stays_as_it_is(self, whole, go_on, tmp_path):
        refused(go_on, whole[:-1])
        assert file_of(tmp_path).read_bytes() == whole[:-1]

    def test_one_of_another_release_is_refused(self, whole, go_on):
        content = content_of(whole) | {"checkpoint_format": 2}
        refused(go_on, file_with(content), match="of another release")


class TestNoCode:
    def test_going_on_imports_and_unpickles_nothing(self, whole, go_on):
        go_on(whole)  # what is imported late is there now
        heard, listening = [], True

        def hear(event, arguments):
            if listening:
                heard.append(event)

        sys.addaudithook(hear)  # for ever, so it stops listening
        go_on(whole)
        listening = False
        assert "open" in heard
        running = ("ctypes", "import", "marshal", "pickle", "subprocess")
        assert not {event for event in heard if event.split(".")[0] in running}


ARRAYS = {
    "a weight": ("training", "weights", "embedding.weight"),
    "a moment": ("training", "optimizer", "state", 0, "exp_avg"),
    "a number of steps": ("training", "optimizer", "state", 0, "step"),
    "a best weight": ("training", "callbacks", "early_stopping", "weights", "output.weight"),
    "the generator of noise": ("training", "noise"),
    "the order": ("training", "order", "state", "key"),
    "the random state": ("random_state", "state", "key"),
}


class TestCraftedContent:
    def test_what_is_written_again_goes_on(self, whole, go_on):
        assert go_on(file_with(content_of(whole))).n_iter_ == 3

    @pytest.mark.parametrize("path", ARRAYS.values(), ids=ARRAYS)
    @pytest.mark.parametrize("change", ["longer", "scalar", "missing"])
    def test_an_array_of_another_shape_is_refused(self, path, change, whole, go_on):
        content = content_of(whole)
        if change == "missing":
            refused(go_on, file_with(without(content, path)))
            return
        place = content
        for key in path:
            place = place[key]
        if change == "scalar" and place.ndim == 0:
            pytest.skip("it is a scalar")
        other = np.concatenate([place.ravel()] * 2)[1:] if change == "longer" else place.ravel()[0]
        refused(go_on, file_with(set_at(content, path, np.asarray(other))))

    @pytest.mark.parametrize("position", [-1, 625, 2**31, "624", None])
    @pytest.mark.parametrize("path", [("training", "order"), ("random_state",)])
    def test_a_generator_reads_nothing_behind_its_state(self, path, position, whole, go_on):
        path = (*path, "state", "pos")
        refused(go_on, file_with(set_at(content_of(whole), path, position)))

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("_schedule_phases", 0, "start_lr"), "text"),
            (("_schedule_phases", 0, "end_step"), 0),
            (("cycle_momentum",), True),
        ],
    )
    def test_a_schedule_is_the_one_of_the_fit(self, path, value, whole, go_on):
        path = ("training", "callbacks", "lr_schedule", *path)
        refused(go_on, file_with(set_at(content_of(whole), path, value)), match="of its schedule")

    @pytest.mark.parametrize("value", ["text", -7])
    @pytest.mark.parametrize("flag", ["fused", "differentiable", "foreach"])
    def test_flags_of_the_optimizer_are_its_own(self, whole, go_on, flag, value):
        content = content_of(whole)
        (place,) = [path for path in paths(content) if path[-1] == flag]
        with pytest.raises(ModelFormatError, match=f"{flag} of its optimizer is|has a str for"):
            go_on(file_with(set_at(content, place, value)))

    @pytest.mark.thorough
    def test_no_other_value_is_more_than_refused(self, whole, go_on):
        content = content_of(whole)
        places = [path for path in paths(content) if "batches" not in path[:-2]]
        assert len(places) > 200
        values = [None, "text", -7, math.nan, [], {}]
        for number, path in enumerate(places):
            changed = set_at(content, path, copy.copy(values[number % len(values)]))
            try:
                fitted = go_on(file_with(changed))
            except (FloatingPointError, ValueError):  # diverged, of another fit, or damaged
                continue
            assert np.isfinite(fitted.predict_proba(TEXTS)).all(), path


def test_a_seal_that_was_made_anew_is_no_proof(whole, go_on):
    content = bytearray(whole)
    at = whole.index(b'["stage","')
    content[at + 2] ^= 1
    refused(go_on, sealed(bytes(content)))


def test_a_copy_of_the_folder_goes_on_as_well(whole, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    file_of(first).write_bytes(whole)
    shutil.copytree(first, tmp_path / "copy")
    one, other = (
        classifier_of(**PARAMS).fit(TEXTS, LABELS, checkpoint=tmp_path / name)
        for name in ("first", "copy")
    )
    np.testing.assert_array_equal(one.predict_proba(TEXTS), other.predict_proba(TEXTS))
