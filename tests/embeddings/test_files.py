"""Text files of word vectors, whole and damaged."""

from __future__ import annotations

import gzip
import os
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from sk_han.embeddings.pretrained import read_vectors

GLOVE = "film 0.5 -0.25 1e-3\nfine 1 2 .5\n"
WORD2VEC = "2 3\n" + GLOVE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.txt"


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def vectors_of(path: Path) -> dict[str, list[float]]:
    return {word: vector().tolist() for word, vector in read_vectors(path)}


class TestFormats:
    def test_glove_has_a_word_and_its_numbers_on_each_line(self, path: Path) -> None:
        found = vectors_of(written(path, GLOVE))
        assert found == {"film": [0.5, -0.25, pytest.approx(0.001)], "fine": [1.0, 2.0, 0.5]}
        _, vector = next(read_vectors(str(path)))  # as a string, too
        assert vector().dtype == np.float32

    def test_the_header_of_word2vec_is_no_word(self, path: Path) -> None:
        assert list(vectors_of(written(path, WORD2VEC))) == ["film", "fine"]

    @pytest.mark.parametrize("name", ["vectors.txt.gz", "vectors.txt"])
    def test_gzip_is_known_by_its_content(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(WORD2VEC.encode()))
        assert vectors_of(tmp_path / name)["fine"] == [1.0, 2.0, 0.5]

    @pytest.mark.parametrize("word", [". . .", "at name@example.com", "Straße", "a\u2028b", "7"])
    def test_numbers_are_taken_from_the_right(self, path: Path, word: str) -> None:
        assert vectors_of(written(path, f"{GLOVE}{word} 1 2 3\n"))[word] == [1.0, 2.0, 3.0]

    def test_the_first_word_may_be_a_number_or_have_spaces(self, path: Path) -> None:
        assert vectors_of(written(path, "7 0.5 1\n"))["7"] == [0.5, 1.0]
        assert vectors_of(written(path, ". . 0.5 1\n"))[". ."] == [0.5, 1.0]

    @pytest.mark.parametrize(
        "text",
        ["\ufeff" + GLOVE, GLOVE.replace("\n", "\r\n"), GLOVE.replace("\n", " \n"), GLOVE + "\n\n"],
        ids=["byte order mark", "Windows", "trailing spaces", "blank lines"],
    )
    def test_marks_around_the_lines_change_nothing(self, path: Path, text: str) -> None:
        assert vectors_of(written(path, text)) == vectors_of(written(path, GLOVE))

    def test_numbers_nobody_asks_for_are_not_parsed(self, path: Path) -> None:
        words = [word for word, _ in read_vectors(written(path, GLOVE + "odd 1 two 3\n"))]
        assert words == ["film", "fine", "odd"]


class TestDamage:
    def refusal(self, path: Path, text: str) -> str:
        with pytest.raises(ValueError, match=r"vectors\.txt") as refused:
            vectors_of(written(path, text))
        return str(refused.value)

    @pytest.mark.parametrize("numbers", ["1 2", "1 2 3 4"])
    def test_a_line_of_too_few_or_many_numbers_is_named(self, path: Path, numbers: str) -> None:
        message = self.refusal(path, f"{GLOVE}dull {numbers}\n")
        assert "line 3: expected a word and 3 numbers" in message
        assert f"found {numbers[-1]} numbers in 'dull {numbers}'" in message

    @pytest.mark.parametrize("line", ["dull  1 2 3", " dull 1 2 3", "dull 1  2 3", "dull\t1\t2\t3"])
    def test_other_separators_than_single_spaces_are_named(self, path: Path, line: str) -> None:
        assert "separated by single spaces" in self.refusal(path, f"{GLOVE}{line}\n")

    @pytest.mark.parametrize("number", ["nan", "-NaN", "inf", "Infinity", "1e99"])
    def test_a_number_that_is_not_finite_is_named(self, path: Path, number: str) -> None:
        for line in (f"dull 1 {number} 3\n", f"dull 1 2 {number}\n"):
            message = "holds a number that is not finite"
            assert f"line 1 {message}" in self.refusal(path, line + GLOVE)
            assert f"line 3 {message}" in self.refusal(path, GLOVE + line)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("film\nfine\n", "line 1: expected a word and its numbers"),
            (GLOVE + "dull 1 two 3\n", "line 3: could not convert string to float: 'two'"),
        ],
    )
    def test_what_holds_no_numbers_is_named(self, path: Path, text: str, message: str) -> None:
        assert message in self.refusal(path, text)

    def test_long_lines_are_shortened_in_the_message(self, path: Path) -> None:
        assert len(self.refusal(path, GLOVE + "dull " + 1000 * "x")) < 400

    @pytest.mark.parametrize("text", ["3 3\n" + GLOVE, "1 3\n" + GLOVE])
    def test_a_header_that_announces_other_words_is_refused(self, path: Path, text: str) -> None:
        message = self.refusal(path, text)
        assert f"has 2 words, but its first line announces {text[0]}" in message

    @pytest.mark.parametrize(
        "header",
        ["1000000000000 300", "2 1000000000000", "2 0", "-2 3", "2 " + 19 * "9", 9999 * "9" + " 3"],
    )
    def test_a_header_of_wrong_numbers_is_refused_with_a_line(
        self, path: Path, header: str
    ) -> None:
        message = self.refusal(path, f"{header}\n{GLOVE}")
        assert re.search(r"line [12]: expected a word and", message)

    @pytest.mark.parametrize("beginning", [b"", b"2 3\n", GLOVE.encode()])
    @pytest.mark.parametrize("endless", [b"9", b" ", b"a ", b"\0"])
    def test_a_line_without_end_is_named_before_it_is_unpacked(
        self, path: Path, beginning: bytes, endless: bytes
    ) -> None:
        path.write_bytes(gzip.compress(beginning + endless * (1 << 24)))
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"line [123] is longer than 1,048,576 bytes"):
                vectors_of(path)
            assert tracemalloc.get_traced_memory()[1] < 1 << 23
        finally:
            tracemalloc.stop()

    def test_a_line_of_ten_thousand_numbers_is_read(self, path: Path) -> None:
        line = "film" + " -0.123456789012345678" * 10_000 + "\n"
        assert len(vectors_of(written(path, line))["film"]) == 10_000

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs an operating system with pipes")
    @pytest.mark.timeout(10)
    def test_a_folder_is_refused_and_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "vectors.txt")
        for path in (tmp_path, tmp_path / "vectors.txt"):
            with pytest.raises(ValueError, match="is a folder, pipe or device"):
                vectors_of(path)

    def test_bytes_that_are_not_utf_8_are_named(self, path: Path) -> None:
        path.write_bytes(GLOVE.encode() + "Straße 1 2 3\n".encode("latin-1"))
        with pytest.raises(ValueError, match=r"vectors.txt, line 3: byte 0xdf is not UTF-8"):
            vectors_of(path)

    def test_a_cut_off_gzip_file_is_named(self, path: Path) -> None:
        path.write_bytes(gzip.compress(GLOVE.encode())[:-9])
        with pytest.raises(ValueError, match=r"vectors.txt is not a whole gzip file"):
            vectors_of(path)

    def test_a_file_that_is_not_there_is_named(self, path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"vectors.txt"):
            vectors_of(path)
