"""Files that are damaged by accident."""

import os
import pickle
import sys

import pytest

from sk_han import ModelFormatError, load
from sk_han._storage.model_file import FORMAT_VERSION
from sk_han.serving import Scorer
from tests.crafted_files import GOLDEN, WHOLE, archive_of, golden_parts, with_header


class TestNoCode:
    def test_loading_runs_imports_and_unpickles_nothing(self):
        load(GOLDEN / "classifier.han")  # what the package itself imports late is there now
        heard, listening = [], True

        def hear(event, _):
            if listening:
                heard.append(event)

        sys.addaudithook(hear)  # for ever, so it stops listening
        load(GOLDEN / "classifier.han")
        listening = False
        assert "open" in heard
        running = ("compile", "ctypes", "exec", "import", "marshal", "os", "pickle", "subprocess")
        assert not {event for event in heard if event.split(".")[0] in running}


class TestAccidents:
    @pytest.mark.thorough
    def test_a_changed_bit_is_found_anywhere(self, load_bytes):
        header = 8 + int.from_bytes(WHOLE[:8], "little")
        for position in {*range(header + 200), *range(header, len(WHOLE), 29)}:
            content = bytearray(WHOLE)
            content[position] ^= 1 << position % 8
            with pytest.raises(ModelFormatError, match=r"model\.han cannot be loaded"):
                load_bytes(bytes(content))

    def test_a_changed_bit_of_an_array_is_found(self, load_bytes):
        header = 8 + int.from_bytes(WHOLE[:8], "little")
        for position in range(header, len(WHOLE), 701):
            content = bytearray(WHOLE)
            content[position] ^= 1 << position % 8
            with pytest.raises(ModelFormatError, match="it is damaged: its SHA-256"):
                load_bytes(bytes(content))

    def test_a_file_cut_off_anywhere_is_found(self, load_bytes):
        for length in {*range(0, len(WHOLE), 97), *range(len(WHOLE) - 150, len(WHOLE))}:
            with pytest.raises(ModelFormatError, match=r"model\.han cannot be loaded"):
                load_bytes(WHOLE[:length])

    def test_added_bytes_and_an_empty_file_are_found(self, load_bytes):
        for content in (WHOLE + b"\n", b"#!/bin/sh\n" + WHOLE):
            with pytest.raises(ModelFormatError):
                load_bytes(content)
        with pytest.raises(ValueError, match="it is empty"):
            load_bytes(b"")

    @pytest.mark.parametrize(
        "content",
        [b"\x89PNG\r\n\x1a\n" + bytes(500), pickle.dumps(list("model")), b"text,label\n", b"PK"],
        ids=["PNG", "pickle", "CSV", "two bytes"],
    )
    def test_a_foreign_file_is_recognized(self, load_bytes, content):
        with pytest.raises(ModelFormatError, match=r"not a file of sk_han\.save.*joblib\.load"):
            load_bytes(content)

    @pytest.mark.parametrize("metadata", [{}, {"__metadata__": {"format": "pt"}}])
    def test_weights_of_another_program_are_recognized(self, load_bytes, metadata):
        with pytest.raises(ModelFormatError, match="a safetensors file of another program"):
            load_bytes(with_header(metadata))

    @pytest.mark.parametrize("read", [load, Scorer.load])
    @pytest.mark.parametrize("version", [FORMAT_VERSION + 1, FORMAT_VERSION - 1, "4", None])
    def test_another_format_is_refused_with_the_release_to_install(
        self, tmp_path, monkeypatch, version, read
    ):
        description, arrays = golden_parts()
        description["versions"]["sk_han"] = "0.7.1"
        monkeypatch.setattr("sk_han._storage.model_file.FORMAT_VERSION", version)
        (tmp_path / "model.han").write_bytes(archive_of(description, arrays))
        monkeypatch.undo()
        repair = f"format {FORMAT_VERSION}: .* or install sk_han 0.7.1, which wrote it"
        with pytest.raises(ModelFormatError, match=f"format {version!r}, .* {repair}"):
            read(tmp_path / "model.han")

    def test_another_format_that_names_no_release_is_refused(self, load_bytes):
        header = {"__metadata__": {"sk_han": '{"format": 9, "description": []}'}}
        with pytest.raises(ModelFormatError, match=r"format 9, .*install the release that wrote"):
            load_bytes(with_header(header))

    def test_a_missing_file_or_folder_is_not_a_format_error(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent"):
            load(tmp_path / "absent.han")
        with pytest.raises(IsADirectoryError):
            load(tmp_path)

    def test_a_pipe_or_device_is_refused_without_waiting(self, tmp_path):
        if not hasattr(os, "mkfifo") or not os.path.exists("/dev/zero"):
            pytest.skip("there are no pipes with names here, or no /dev/zero")
        os.mkfifo(tmp_path / "model.han")
        with pytest.raises(OSError, match=r"model\.han is a pipe; give the name of a file"):
            load(tmp_path / "model.han")
        with pytest.raises(OSError, match="/dev/zero is a device"):
            load("/dev/zero")
