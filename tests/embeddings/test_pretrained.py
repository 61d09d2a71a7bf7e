"""Pretrained word vectors: files of them, and their alignment with a vocabulary."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.embeddings import (
    Embeddings,
    embedding_matrix,
    learn_embeddings,
    load_embeddings,
)
from tests.tiny_models import tiny

FROZEN = {"freeze_embedding": True, "max_epochs": 1}
VOCABULARY = {"film": 2, "fine": 3, "dull": 4, "joy": 5}
VECTORS = {"fine": [3.0, 0.0, 4.0], "joy": [4.0, 3.0, 0.0], "bread": [9.0, 9.0, 9.0]}


def matrix_of(vectors: Any, vocabulary: Any = VOCABULARY, embedding_dim: int = 3) -> np.ndarray:
    return embedding_matrix(vectors, vocabulary, embedding_dim, np.random.RandomState(0))


class TestEmbeddingMatrix:
    def test_each_vector_stands_on_the_row_of_its_word(self) -> None:
        matrix = matrix_of(VECTORS)
        assert matrix.dtype == np.float32
        assert matrix.shape == (6, 3)
        assert matrix[3].tolist() == VECTORS["fine"]
        assert matrix[5].tolist() == VECTORS["joy"]
        assert np.array_equal(matrix_of(VECTORS), matrix)  # by the same seed
        assert matrix_of(VECTORS, {"fine": 3, "joy": 11}).shape == (12, 3)  # ids with gaps

    def test_words_without_a_vector_are_as_large_as_those_with_one(self) -> None:
        vocabulary = {f"word{i}": i for i in range(2, 1009)} | {"fine": 1009}
        matrix = matrix_of(VECTORS, vocabulary)
        assert matrix[:1009].std() == pytest.approx(np.std(VECTORS["fine"]), rel=0.1)

    def test_vectors_may_come_from_anything_that_answers_in_and_brackets(self) -> None:
        assert np.array_equal(matrix_of(KeyedVectors(VECTORS)), matrix_of(VECTORS))

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            ({"fin": [3.0, 0.0, 4.0]}, r"write words alike. First words: \['film', 'fine', 'dull'"),
            ({"fine": [3.0] * 5}, r"shape \(5,\), but embedding_dim=3"),
            ({"fine": 3.0, "joy": [4.0, 3.0, 0.0]}, r"shape \(\), but"),
            ({"fine": [[3.0, 0.0, 4.0]], "joy": [4.0, 3.0, 0.0]}, r"shape \(1, 3\), but"),
        ],
    )
    def test_other_words_or_shapes_are_refused(self, vectors: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            matrix_of(vectors)

    def test_vectors_that_are_not_finite_are_refused_by_their_words(self) -> None:
        vocabulary = {word: i for i, word in enumerate("abcdef", start=2)}
        vectors = {word: [np.nan, 0.0] for word in vocabulary} | {"f": [0.0, 0.0]}
        message = r"vectors of 'a', 'b', 'c' and 2 more, 5 of 6, hold NaN.* random ones"
        with pytest.raises(ValueError, match=message):
            embedding_matrix(vectors, vocabulary, 2)

    def test_a_word_takes_its_own_vector_and_else_that_of_its_lower_case(self) -> None:
        assert matrix_of(VECTORS, {"Fine": 2, "fine": 3})[2].tolist() == VECTORS["fine"]
        vectors = {"fine": [1.0, 0.0], "Fine": [0.0, 1.0]}
        assert matrix_of(vectors, {"Fine": 2}, 2)[2].tolist() == [0.0, 1.0]

    @pytest.mark.parametrize("spelling", ["CAFÉ", "Cafe\u0301", "cafe\u0301"])
    def test_a_mapping_and_a_file_have_vectors_of_the_same_words(
        self, spelling: str, tmp_path: Path
    ) -> None:
        vectors = {"tea": [5.0, 6.0], "don’t": [3.0, 4.0], spelling: [1.0, 2.0], "Café": [7.0, 8.0]}
        path = tmp_path / "vectors.txt"
        lines = (f"{word} {first} {second}" for word, (first, second) in vectors.items())
        path.write_text("\n".join(lines), "utf-8")
        vocabulary = {"café": 2, "don't": 3}
        for given in (vectors, KeyedVectors(vectors), load_embeddings(path, vocabulary)):
            assert matrix_of(given, vocabulary, 2)[2:].tolist() == [[1.0, 2.0], [3.0, 4.0]]


class KeyedVectors:
    """What gensim 4 gives, as far as it matters here."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.key_to_index = {word: row for row, word in enumerate(vectors)}
        self.vectors = np.array(list(vectors.values()))

    def __contains__(self, word: str) -> bool:
        return word in self.key_to_index

    def __getitem__(self, word: str) -> np.ndarray:
        return self.vectors[self.key_to_index[word]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Vectors of four words, one of them twice."""
    path = tmp_path / "vectors.txt"
    path.write_text("fine 3 0 4\nParis 1 1 1\njoy 4 3 0\nPARIS 2 2 2\nbread 9 9 9\njoy 0 0 0\n")
    return path


class TestLoadEmbeddings:
    def test_without_a_vocabulary_all_words_are_loaded(self, path: Path) -> None:
        vectors = load_embeddings(path)
        assert list(vectors) == ["paris", "fine", "Paris", "joy", "PARIS", "bread"]
        assert len(vectors) == 6
        assert vectors["bread"].tolist() == [9.0, 9.0, 9.0]
        assert vectors.embedding_dim == 3
        assert vectors.coverage is None

    def test_with_a_vocabulary_no_other_vector_is_kept(self, path: Path) -> None:
        vectors = load_embeddings(path, VOCABULARY)
        assert set(vectors) == {"fine", "joy"}
        assert vectors.vectors.tolist() == [VECTORS["fine"], VECTORS["joy"]]
        assert vectors.coverage == 0.5

    @pytest.mark.parametrize(
        ("vocabulary", "error"),
        [(HierarchicalTokenizer(), NotFittedError), (["joy"], TypeError), ("fine", TypeError)],
    )
    def test_words_without_ids_are_refused(
        self, path: Path, vocabulary: Any, error: type[Exception]
    ) -> None:
        with pytest.raises(error, match=r"not fitted yet|vocabulary_, a mapping of words to ids"):
            load_embeddings(path, vocabulary)

    @pytest.mark.parametrize(
        ("lines", "first"),
        [
            ("joy 2 2\nfilm 1 1\njoy 3 3\n", [2.0, 2.0]),  # of two vectors the first counts
            ("Joy 1 1\nJOY 3 3\n", [1.0, 1.0]),  # capitals stand in for the lower case
            ("Joy 1 1\njoy 2 2\nJOY 3 3\n", [2.0, 2.0]),  # but not where it has a vector
        ],
    )
    def test_a_word_has_the_first_vector_that_fits(
        self, path: Path, lines: str, first: list[float]
    ) -> None:
        path.write_text(lines)
        for vocabulary in ({"joy": 2}, None):
            assert load_embeddings(path, vocabulary)["joy"].tolist() == first

    def test_the_lower_case_is_loaded_for_words_with_capitals(self, path: Path) -> None:
        vectors = load_embeddings(path, {"Fine": 2, "Film": 3})
        assert vectors["fine"].tolist() == VECTORS["fine"]
        assert vectors.coverage == 0.5

    def test_loading_some_words_and_all_words_gives_one_matrix(self, path: Path) -> None:
        vocabulary = {"Fine": 2, "paris": 3, "PARIS": 4, "film": 5, "joy": 6}
        some, all_words = (
            embedding_matrix(vectors, vocabulary, 3, random_state=0)
            for vectors in (load_embeddings(path, vocabulary), load_embeddings(path))
        )
        np.testing.assert_array_equal(some, all_words)

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("fin 1 2\n", r"vectors.txt; .*\['film', 'fine', 'dull', 'joy'\]"),
            ("fine 1 2\njoy 1 x\n", r"vectors.txt, line 2"),
        ],
    )
    def test_no_known_word_and_a_damaged_line_are_refused(
        self, path: Path, lines: str, message: str
    ) -> None:
        path.write_text(lines)
        with pytest.raises(ValueError, match=message):
            load_embeddings(path, VOCABULARY)


class TestLoadedVectors:
    """Vectors that are in memory already, in place of a path."""

    @pytest.mark.parametrize("vectors", [VECTORS, KeyedVectors(VECTORS)], ids=["dict", "gensim"])
    def test_they_are_taken_like_a_file(self, vectors: Any) -> None:
        loaded = load_embeddings(vectors, VOCABULARY)
        assert {word: vector.tolist() for word, vector in loaded.items()} == {
            word: VECTORS[word] for word in ("fine", "joy")
        }
        assert loaded.coverage == 0.5
        assert len(load_embeddings(vectors)) == 3

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            ({"fine": [1.0, 2.0, 3.0], "joy": [1.0, 2.0]}, r"'joy' .* \(2,\).*\(3,\) before"),
            ({"fine": 1.0}, r"'fine' has the shape \(\)"),
        ],
    )
    def test_vectors_of_unlike_sizes_are_refused(self, vectors: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            load_embeddings(vectors)

    @pytest.mark.parametrize("value", [np.nan, -np.inf, 1e39])
    def test_vectors_that_are_not_finite_are_refused_by_their_words(self, value: float) -> None:
        vectors = {"good": [0.5, 1.0], "dull": [value, 0.0], "fine": np.array([0.0, value])}
        with pytest.raises(ValueError, match=r"vectors of 'dull', 'fine', 2 of 3, hold NaN"):
            load_embeddings(vectors)
        with pytest.raises(ValueError, match=r"vectors of 'dull', 1 of 2, hold NaN"):
            load_embeddings(KeyedVectors(vectors), {"good": 2, "dull": 3})
        assert len(load_embeddings(vectors, {"good": 2})) == 1

    def test_another_object_is_refused_with_what_would_do(self) -> None:
        with pytest.raises(TypeError, match=r"path is an ndarray; give .* KeyedVectors"):
            load_embeddings(np.zeros((3, 2)))


class TestCoverage:
    def test_running_words_count_as_often_as_they_occur(self, path: Path) -> None:
        tokenizer = HierarchicalTokenizer(vocabulary=VOCABULARY)
        documents = tokenizer.fit_transform(["Fine fine<br>A film", "Joy"])
        vectors = load_embeddings(path, tokenizer, documents)
        assert vectors.running_coverage == 3 / 5  # "a" is unknown to the vocabulary
        without_words = load_embeddings(path, tokenizer, tokenizer.transform([""]))
        assert without_words.running_coverage is None

    def test_documents_need_their_vocabulary(self, path: Path) -> None:
        documents = HierarchicalTokenizer().fit_transform(["Fine."])
        with pytest.raises(ValueError, match="vocabulary"):
            load_embeddings(path, documents=documents)

    def test_the_printed_form_says_it(self) -> None:
        vectors = np.zeros((12_345, 2), dtype=np.float32)
        rows = {f"word{row}": row for row in range(12_345)}
        assert repr(Embeddings(rows, vectors, 20_000, 12_345, 0.987)) == (
            "Embeddings(12,345 of 20,000 words (61.7 %), 98.7 % of running words, embedding_dim=2)"
        )
        assert repr(Embeddings(rows, vectors)) == "Embeddings(12,345 words, embedding_dim=2)"


class TestEmbeddings:
    def test_vectors_cannot_be_changed_and_a_deep_copy_shares_them(self, path: Path) -> None:
        vectors = load_embeddings(path)
        with pytest.raises(ValueError, match="read-only"):
            vectors["fine"][0] = 1.0
        assert copy.deepcopy({"embedding_init": vectors})["embedding_init"] is vectors
        assert vectors != load_embeddings(path)  # comparing them is no error

    def test_a_pickle_brings_them_back(self, path: Path) -> None:
        vectors = load_embeddings(path, VOCABULARY)
        restored = pickle.loads(pickle.dumps(vectors))
        assert repr(restored) == repr(vectors)
        assert restored["fine"].tolist() == VECTORS["fine"]

    def test_every_fold_aligns_them_with_its_own_vocabulary(self, path: Path) -> None:
        texts, labels = 4 * ["A fine joy.", "Dull bread."], 4 * ["good", "bad"]
        classifier = tiny(embedding_dim=3, embedding_init=load_embeddings(path), **FROZEN)
        assert np.isfinite(cross_val_score(classifier, texts, labels, cv=2)).all()
        classifier.fit(texts, labels)
        row = classifier.tokenizer_.vocabulary_["joy"]
        assert classifier.net_.weights["embedding.weight"][row].tolist() == VECTORS["joy"]


class TestLearnEmbeddings:
    TEXTS = 4 * ["A fine film, a fine joy.", "A dull film and no joy."]

    def tokenized(self) -> tuple[DocumentArray, HierarchicalTokenizer]:
        tokenizer = HierarchicalTokenizer(min_df=2)
        return tokenizer.fit_transform(self.TEXTS), tokenizer

    def test_words_that_never_occur_are_left_to_chance_and_not_covered(self) -> None:
        documents, tokenizer = self.tokenized()
        with_more = {**tokenizer.vocabulary_, "absent": max(tokenizer.vocabulary_.values()) + 3}
        found = learn_embeddings(documents, with_more, embedding_dim=4, random_state=0)
        assert "absent" not in found
        assert found.coverage == pytest.approx((len(with_more) - 1) / len(with_more))

    @pytest.mark.parametrize(
        ("vocabulary", "message"),
        [
            ({"a": 2, "fine": 3}, r"word id \d+, but the vocabulary ends at 3"),
            ({"a": 2, "fine": 2.5}, r"maps 'fine' to 2\.5; ids are integers"),
            (make_pipeline("passthrough"), r"vocabulary is a Pipeline; give .* vocabulary_"),
        ],
    )
    def test_another_vocabulary_is_refused(self, vocabulary: Any, message: str) -> None:
        with pytest.raises((TypeError, ValueError), match=message):
            learn_embeddings(self.tokenized()[0], vocabulary)

    def test_texts_are_refused_with_the_repair(self) -> None:
        with pytest.raises(TypeError, match=r"tokenizer\.transform"):
            learn_embeddings(self.TEXTS, {"a": 2})  # type: ignore[arg-type]

    def test_text_without_neighbours_is_refused(self) -> None:
        documents = DocumentArray.from_nested([[[2]], [[3]]])
        with pytest.raises(ValueError, match="2 documents of 2 words"):
            learn_embeddings(documents, {"a": 2, "b": 3})

    def test_the_size_is_checked(self) -> None:
        documents, tokenizer = self.tokenized()
        with pytest.raises(ValueError, match="at least 1; got"):
            learn_embeddings(documents, tokenizer, embedding_dim=0)


# Files

GLOVE = "film 0.5 -0.25 1e-3\nfine 1 2 .5\n"
WORD2VEC = "2 3\n" + GLOVE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors.txt"


def written(file: Path, text: str) -> Path:
    file.write_bytes(text.encode())
    return file


def vectors_of(file: Path) -> dict[str, list[float]]:
    return {word: vector.tolist() for word, vector in load_embeddings(file).items()}


class TestFormats:
    def test_glove_has_a_word_and_its_numbers_on_each_line(self, file: Path) -> None:
        found = vectors_of(written(file, GLOVE))
        assert found == {"film": [0.5, -0.25, pytest.approx(0.001)], "fine": [1.0, 2.0, 0.5]}
        assert load_embeddings(str(file))["film"].dtype == np.float32  # as a string, too

    def test_the_header_of_word2vec_is_no_word(self, file: Path) -> None:
        assert list(vectors_of(written(file, WORD2VEC))) == ["film", "fine"]

    @pytest.mark.parametrize("name", ["vectors.txt.gz", "vectors.txt"])
    def test_gzip_is_known_by_its_content(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(gzip.compress(WORD2VEC.encode()))
        assert vectors_of(tmp_path / name)["fine"] == [1.0, 2.0, 0.5]

    @pytest.mark.parametrize("word", [". . .", "at name@example.com", "Straße", "a\u2028b", "7"])
    def test_numbers_are_taken_from_the_right(self, file: Path, word: str) -> None:
        assert vectors_of(written(file, f"{GLOVE}{word} 1 2 3\n"))[word] == [1.0, 2.0, 3.0]

    def test_the_first_word_may_be_a_number_or_have_spaces(self, file: Path) -> None:
        assert vectors_of(written(file, "7 0.5 1\n"))["7"] == [0.5, 1.0]
        assert vectors_of(written(file, ". . 0.5 1\n"))[". ."] == [0.5, 1.0]

    @pytest.mark.parametrize(
        "text",
        ["\ufeff" + GLOVE, GLOVE.replace("\n", "\r\n"), GLOVE.replace("\n", " \n"), GLOVE + "\n\n"],
        ids=["byte order mark", "Windows", "trailing spaces", "blank lines"],
    )
    def test_marks_around_the_lines_change_nothing(self, file: Path, text: str) -> None:
        assert vectors_of(written(file, text)) == vectors_of(written(file, GLOVE))

    def test_numbers_nobody_asks_for_are_not_parsed(self, file: Path) -> None:
        found = load_embeddings(written(file, GLOVE + "odd 1 two 3\n"), VOCABULARY)
        assert list(found) == ["film", "fine"]


class TestDamage:
    def refusal(self, file: Path, text: str) -> str:
        with pytest.raises(ValueError, match=r"vectors\.txt") as refused:
            vectors_of(written(file, text))
        return str(refused.value)

    @pytest.mark.parametrize("numbers", ["1 2", "1 2 3 4"])
    def test_a_line_of_too_few_or_many_numbers_is_named(self, file: Path, numbers: str) -> None:
        message = self.refusal(file, f"{GLOVE}dull {numbers}\n")
        assert "line 3: expected a word and 3 numbers" in message
        assert f"found {numbers[-1]} numbers in 'dull {numbers}'" in message

    @pytest.mark.parametrize(
        "line", ["dull  1 2 3", " dull 1 2 3", "dull 1  2 3", "dull\t1\t2\t3", "dull\t1 2 3 4"]
    )
    def test_other_separators_than_single_spaces_are_named(self, file: Path, line: str) -> None:
        assert "separated by single spaces" in self.refusal(file, f"{GLOVE}{line}\n")

    @pytest.mark.parametrize("number", ["nan", "-NaN", "inf", "Infinity", "1e99"])
    def test_a_number_that_is_not_finite_is_named(self, file: Path, number: str) -> None:
        for line in (f"dull 1 {number} 3\n", f"dull 1 2 {number}\n"):
            message = "holds a number that is not finite"
            assert f"line 1 {message}" in self.refusal(file, line + GLOVE)
            assert f"line 3 {message}" in self.refusal(file, GLOVE + line)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("film\nfine\n", "line 1: expected a word and its numbers"),
            (GLOVE + "dull 1 two 3\n", "line 3: could not convert string to float: 'two'"),
        ],
    )
    def test_what_holds_no_numbers_is_named(self, file: Path, text: str, message: str) -> None:
        assert message in self.refusal(file, text)

    def test_long_lines_are_shortened_in_the_message(self, file: Path) -> None:
        assert len(self.refusal(file, GLOVE + "dull " + 1000 * "x")) < 400

    @pytest.mark.parametrize("text", ["3 3\n" + GLOVE, "1 3\n" + GLOVE])
    def test_a_header_that_announces_other_words_is_refused(self, file: Path, text: str) -> None:
        message = self.refusal(file, text)
        assert f"has 2 words, but its first line announces {text[0]}" in message

    @pytest.mark.parametrize(
        "header",
        ["1000000000000 300", "2 1000000000000", "2 0", "-2 3", "2 " + 19 * "9", 9999 * "9" + " 3"],
    )
    def test_a_header_of_wrong_numbers_is_refused_with_a_line(
        self, file: Path, header: str
    ) -> None:
        message = self.refusal(file, f"{header}\n{GLOVE}")
        assert re.search(r"line [12]: expected a word and", message)

    @pytest.mark.parametrize("beginning", [b"", b"2 3\n", GLOVE.encode()])
    @pytest.mark.parametrize("endless", [b"9", b" ", b"a ", b"\0"])
    def test_a_line_without_end_is_named_before_it_is_unpacked(
        self, file: Path, beginning: bytes, endless: bytes
    ) -> None:
        file.write_bytes(gzip.compress(beginning + endless * (1 << 24)))
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"line [123] is longer than 1,048,576 bytes"):
                vectors_of(file)
            assert tracemalloc.get_traced_memory()[1] < 1 << 23
        finally:
            tracemalloc.stop()

    def test_a_line_of_ten_thousand_numbers_is_read(self, file: Path) -> None:
        line = "film" + " -0.123456789012345678" * 10_000 + "\n"
        assert len(vectors_of(written(file, line))["film"]) == 10_000

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs an operating system with pipes")
    @pytest.mark.timeout(10)
    def test_a_folder_is_refused_and_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "vectors.txt")
        for file in (tmp_path, tmp_path / "vectors.txt"):
            with pytest.raises(ValueError, match="is a folder, pipe or device"):
                vectors_of(file)

    def test_bytes_that_are_not_utf_8_are_named(self, file: Path) -> None:
        file.write_bytes(GLOVE.encode() + "Straße 1 2 3\n".encode("latin-1"))
        with pytest.raises(ValueError, match=r"vectors.txt, line 3: byte 0xdf is not UTF-8"):
            vectors_of(file)

    def test_a_cut_off_gzip_file_is_named(self, file: Path) -> None:
        file.write_bytes(gzip.compress(GLOVE.encode())[:-9])
        with pytest.raises(ValueError, match=r"vectors.txt is not a whole gzip file"):
            vectors_of(file)

    def test_a_file_that_is_not_there_is_named(self, file: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"vectors.txt"):
            vectors_of(file)
