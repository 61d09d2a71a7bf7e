"""Pretrained word vectors: files of them, and their alignment with a vocabulary."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
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

VOCABULARY = {"film": 2, "fine": 3, "dull": 4, "joy": 5}
VECTORS = {"fine": [3.0, 0.0, 4.0], "joy": [4.0, 3.0, 0.0], "bread": [9.0, 9.0, 9.0]}


def matrix_of(vectors: Any, vocabulary: Any = VOCABULARY, embedding_dim: int = 3) -> np.ndarray:
    return embedding_matrix(vectors, vocabulary, embedding_dim, np.random.RandomState(0))


class KeyedVectors:
    """What gensim 4 gives, as far as it matters here."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.key_to_index = {word: row for row, word in enumerate(vectors)}
        self.vectors = np.array(list(vectors.values()))

    def __contains__(self, word: str) -> bool:
        return word in self.key_to_index

    def __getitem__(self, word: str) -> np.ndarray:
        return self.vectors[self.key_to_index[word]]


class TestEmbeddingMatrix:
    def test_each_vector_is_in_the_row_of_its_word(self) -> None:
        matrix = matrix_of(KeyedVectors(VECTORS))
        assert (matrix.dtype, matrix.shape) == (np.float32, (6, 3))
        assert matrix[[3, 5]].tolist() == [VECTORS["fine"], VECTORS["joy"]]
        assert np.array_equal(matrix_of(VECTORS), matrix)  # by the same seed
        assert matrix_of(VECTORS, {"fine": 3, "joy": 11}).shape == (12, 3)  # ids with gaps

    def test_random_vectors_have_the_scale_of_pretrained_ones(self) -> None:
        vocabulary = {f"word{i}": i for i in range(2, 1009)} | {"fine": 1009}
        matrix = matrix_of(VECTORS, vocabulary)
        assert matrix[:1009].std() == pytest.approx(np.std(VECTORS["fine"]), rel=0.1)

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            ({"fin": [3.0, 0.0, 4.0]}, r"write words alike. First words: \['film', 'fine', 'dull'"),
            ({"fine": [3.0] * 5}, r"shape \(5,\), but embedding_dim=3"),
            ({"fine": 3.0, "joy": [4.0, 3.0, 0.0]}, r"shape \(\), but"),
            (
                dict.fromkeys(VOCABULARY, [np.nan] * 3) | {"joy": [0.0] * 3},
                r"vectors of 'film', 'fine', 'dull', 3 of 4, hold NaN.* random ones",
            ),
        ],
    )
    def test_invalid_words_shapes_and_numbers_are_refused(self, vectors: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            matrix_of(vectors)

    def test_a_word_without_vector_falls_back_to_lower_case(self) -> None:
        assert matrix_of(VECTORS, {"Fine": 2, "fine": 3})[2].tolist() == VECTORS["fine"]
        vectors = {"fine": [1.0, 0.0], "Fine": [0.0, 1.0]}
        assert matrix_of(vectors, {"Fine": 2}, 2)[2].tolist() == [0.0, 1.0]

    @pytest.mark.parametrize("spelling", ["CAFÉ", "Cafe\u0301", "cafe\u0301"])
    def test_a_mapping_and_a_file_give_the_same_vectors(
        self, spelling: str, tmp_path: Path
    ) -> None:
        vectors = {"tea": [5.0, 6.0], "don’t": [3.0, 4.0], spelling: [1.0, 2.0], "Café": [7.0, 8.0]}
        path = tmp_path / "vectors.txt"
        lines = (f"{word} {first} {second}" for word, (first, second) in vectors.items())
        path.write_text("\n".join(lines), "utf-8")
        vocabulary = {"café": 2, "don't": 3}
        for source in (vectors, KeyedVectors(vectors), load_embeddings(path, vocabulary)):
            assert matrix_of(source, vocabulary, 2)[2:].tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Vectors of four words, one of them twice."""
    path = tmp_path / "vectors.txt"
    path.write_text("fine 3 0 4\nParis 1 1 1\njoy 4 3 0\nPARIS 2 2 2\nbread 9 9 9\njoy 0 0 0\n")
    return path


class TestLoadEmbeddings:
    def test_without_a_vocabulary_all_words_are_loaded(self, path: Path) -> None:
        vectors = load_embeddings(str(path))
        assert list(vectors) == ["paris", "fine", "Paris", "joy", "PARIS", "bread"]
        assert len(vectors) == 6
        assert vectors["bread"].tolist() == [9.0, 9.0, 9.0]
        assert (vectors.embedding_dim, vectors.coverage) == (3, None)

    def test_with_a_vocabulary_no_other_vector_is_kept(self, path: Path) -> None:
        for source in (path, VECTORS, KeyedVectors(VECTORS)):
            vectors = load_embeddings(source, VOCABULARY)
            assert set(vectors) == {"fine", "joy"}
            assert vectors.vectors.tolist() == [VECTORS["fine"], VECTORS["joy"]]
            assert vectors.vectors.dtype == np.float32
            assert vectors.coverage == 0.5

    @pytest.mark.parametrize(
        ("lines", "first"),
        [
            ("joy 2 2\nfilm 1 1\njoy 3 3\n", [2.0, 2.0]),  # of two vectors the first counts
            ("Joy 1 1\nJOY 3 3\n", [1.0, 1.0]),  # capitals stand in for the lower case
            ("Joy 1 1\njoy 2 2\nJOY 3 3\n", [2.0, 2.0]),  # but not where it has a vector
        ],
    )
    def test_a_word_gets_its_first_matching_vector(
        self, path: Path, lines: str, first: list[float]
    ) -> None:
        path.write_text(lines)
        for vocabulary in ({"joy": 2}, None):
            assert load_embeddings(path, vocabulary)["joy"].tolist() == first

    def test_loading_some_words_and_all_words_gives_one_matrix(self, path: Path) -> None:
        vocabulary = {"Fine": 2, "paris": 3, "PARIS": 4, "film": 5, "joy": 6}
        some, all_words = (
            embedding_matrix(vectors, vocabulary, 3, random_state=0)
            for vectors in (load_embeddings(path, vocabulary), load_embeddings(path))
        )
        np.testing.assert_array_equal(some, all_words)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ([VECTORS, HierarchicalTokenizer()], NotFittedError, "not fitted yet"),
            ([VECTORS, ["joy"]], TypeError, "vocabulary_, a mapping of words to ids"),
            ([VECTORS, {"fin": 2}], ValueError, r"in the dict; .*words of the vocabulary: \['fin"),
            ([VECTORS, None, DocumentArray.from_nested([])], ValueError, "only their vocabulary"),
            ([np.zeros((3, 2))], TypeError, "path is an ndarray; give .* KeyedVectors"),
            ([{"a": [1.0, 2.0], "b": [1.0]}], ValueError, r"'b' .* \(1,\).*\(2,\) before"),
            ([{"fine": 1.0}], ValueError, r"'fine' has the shape \(\)"),
            ([{"a": [1.0], "b": [1e39]}], ValueError, r"vectors of 'b', 1 of 2, hold NaN"),
        ],
    )
    def test_arguments_without_vectors_of_the_vocabulary_are_refused(
        self, arguments: list[Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            load_embeddings(*arguments)

    def test_coverage_counts_every_occurrence_of_a_word(self, path: Path) -> None:
        tokenizer = HierarchicalTokenizer(vocabulary=VOCABULARY)
        documents = tokenizer.fit_transform(["Fine fine<br>A film", "Joy"])
        vectors = load_embeddings(path, tokenizer, documents)
        assert vectors.running_coverage == 3 / 5  # "a" is unknown to the vocabulary
        without_words = load_embeddings(path, tokenizer, tokenizer.transform([""]))
        assert without_words.running_coverage is None


class TestEmbeddings:
    def test_the_printed_form_has_sizes_and_coverage(self) -> None:
        vectors = np.zeros((12_345, 2), dtype=np.float32)
        rows = {f"word{row}": row for row in range(12_345)}
        assert repr(Embeddings(rows, vectors, 20_000, 12_345, 0.987)) == (
            "Embeddings(12,345 of 20,000 words (61.7 %), 98.7 % of running words, embedding_dim=2)"
        )
        assert repr(Embeddings(rows, vectors)) == "Embeddings(12,345 words, embedding_dim=2)"

    def test_vectors_cannot_be_changed_and_copies_hold_the_same(self, path: Path) -> None:
        vectors = load_embeddings(path)
        with pytest.raises(ValueError, match="read-only"):
            vectors["fine"][0] = 1.0
        assert copy.deepcopy({"embedding_init": vectors})["embedding_init"] is vectors
        assert vectors != load_embeddings(path)  # comparing them is no error
        assert pickle.loads(pickle.dumps(vectors))["fine"].tolist() == VECTORS["fine"]

    def test_each_fold_aligns_the_vectors_with_its_own_vocabulary(self, path: Path) -> None:
        texts, labels = 4 * ["A fine joy.", "Dull bread."], 4 * ["good", "bad"]
        classifier = tiny(embedding_init=load_embeddings(path), embedding_dim=3)
        classifier.set_params(freeze_embedding=True, max_epochs=1)
        assert np.isfinite(cross_val_score(classifier, texts, labels, cv=2)).all()
        classifier.fit(texts, labels)
        row = classifier.tokenizer_.vocabulary_["joy"]
        assert classifier.net_.weights["embedding.weight"][row].tolist() == VECTORS["joy"]


def test_learnt_vectors_cover_the_words_that_occur() -> None:
    vocabulary = {"a": 2, "fine": 3, "film": 4, "absent": 7}
    documents = DocumentArray.from_nested([[[2, 3, 4]], [[3, 2]]])
    vectors = learn_embeddings(documents, vocabulary, embedding_dim=4, random_state=0)
    assert set(vectors) == {"a", "fine", "film"}
    assert vectors.coverage == 3 / 4


@pytest.mark.parametrize(
    ("vocabulary", "params", "message"),
    [
        ({"a": 2, "fine": 3}, {}, "hold the word id 4, but the vocabulary ends at 3"),
        ({"a": 2, "fine": 4.5}, {}, r"maps 'fine' to 4\.5; ids are integers"),
        (make_pipeline("passthrough"), {}, "vocabulary is a Pipeline; give .* vocabulary_"),
        ({"a": 2, "b": 4}, {}, "No two words .* 2 documents of 2 words"),
        ({"a": 2, "b": 4}, {"embedding_dim": 0}, "at least 1; got"),
        ({"a": 2}, {"documents": ["A text."]}, r"documents is a list; .* tokenizer\.transform"),
    ],
)
def test_vectors_are_learnt_from_documents_of_the_vocabulary_alone(
    vocabulary: Any, params: dict[str, Any], message: str
) -> None:
    documents = DocumentArray.from_nested([[[2]], [[4]]])
    with pytest.raises((TypeError, ValueError), match=message):
        learn_embeddings(**{"documents": documents, "vocabulary": vocabulary, **params})


# Files

GLOVE = "film 0.5 -0.25 1e-3\nfine 1 2 .5\n"
WORD2VEC = "2 3\n" + GLOVE
PACKED = gzip.compress(WORD2VEC.encode(), mtime=0)


def load_content(folder: Path, content: str | bytes, vocabulary: Any = None) -> Embeddings:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_embeddings(path, vocabulary)


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        WORD2VEC,
        PACKED,
        "\ufeff" + GLOVE,
        GLOVE.replace("\n", "\r\n"),
        GLOVE.replace("\n", " \n"),
        GLOVE + "\n\n",
    ],
    ids=["glove", "word2vec", "gzip", "byte order mark", "Windows", "trailing spaces", "blank"],
)
def test_valid_files_of_vectors_are_read(tmp_path: Path, content: str | bytes) -> None:
    vectors = {word: vector.tolist() for word, vector in load_content(tmp_path, content).items()}
    assert vectors == {"film": [0.5, -0.25, pytest.approx(0.001)], "fine": [1.0, 2.0, 0.5]}


@pytest.mark.parametrize("word", [". . .", "at name@example.com", "Straße", "a\u2028b", "7"])
@pytest.mark.parametrize("before", [GLOVE, ""], ids=["behind others", "first"])
def test_numbers_are_read_from_the_right_of_a_line(tmp_path: Path, before: str, word: str) -> None:
    vectors = load_content(tmp_path, f"{before}{word} 1 2.5 3\n")
    assert vectors[word].tolist() == [1.0, 2.5, 3.0]


def test_numbers_of_words_outside_the_vocabulary_are_not_parsed(tmp_path: Path) -> None:
    vectors = load_content(tmp_path, GLOVE + "odd 1 two 3\n", VOCABULARY)
    assert list(vectors) == ["film", "fine"]


def test_a_line_of_ten_thousand_numbers_is_read(tmp_path: Path) -> None:
    line = "film" + " -0.123456789012345678" * 10_000 + "\n"
    assert load_content(tmp_path, line).embedding_dim == 10_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "is empty"),
        ("film\nfine\n", "line 1: expected a word and its numbers"),
        (GLOVE + "dull 1 two 3\n", "line 3: could not convert string to float: 'two'"),
        (GLOVE + "dull 1 2\n", "line 3: expected a word and 3 numbers.* 2 numbers in 'dull 1 2'"),
        (GLOVE + "dull 1 2 3 4\n", "line 3: expected a word and 3 .* 4 numbers in 'dull 1 2 3 4'"),
        (GLOVE + "dull " + 1000 * "x", "line 3: expected a word and 3 numbers"),
        *(
            (f"{GLOVE}{line}\n", "line 3.* separated by single spaces")
            for line in ("dull  1 2 3", " dull 1 2 3", "dull 1  2 3", "dull\t1\t2\t3")
        ),
        (GLOVE + "dull\t1 2 3 4", "line 3.* separated by single spaces"),
        *(
            (f"dull 1 2 {number}\n{GLOVE}", "line 1 holds a number that is not finite")
            for number in ("nan", "-NaN", "inf", "Infinity", "1e99")
        ),
        (GLOVE + "dull 1 nan 3\n", "line 3 holds a number that is not finite"),
        ("3 3\n" + GLOVE, "has 2 words, but its first line announces 3"),
        ("1 3\n" + GLOVE, "has 2 words, but its first line announces 1"),
        *(
            (f"{header}\n{GLOVE}", "line [12]: expected a word and")
            for header in ("2 1000000000000", "2 0", "-2 3", "2 " + 19 * "9", 9999 * "9" + " 3")
        ),
        (GLOVE.encode() + b"Stra\xdfe 1 2 3\n", "line 3: byte 0xdf is not UTF-8"),
        (PACKED[:-9], "is not a whole gzip file"),
    ],
)
def test_a_damaged_file_is_refused_with_the_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"vectors\.txt.*{message}") as refused:
        load_content(tmp_path, content)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("beginning", [b"", b"2 3\n", GLOVE.encode()])
@pytest.mark.parametrize("endless", [b"9", b" ", b"a ", b"\0"])
def test_an_endless_compressed_line_is_refused_with_little_memory(
    tmp_path: Path, beginning: bytes, endless: bytes
) -> None:
    content = gzip.compress(beginning + endless * (1 << 24))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"line [123] is longer than 1,048,576 bytes"):
            load_content(tmp_path, content)
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs an operating system with pipes")
@pytest.mark.timeout(10)
def test_a_folder_is_refused_and_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "vectors.txt")
    for path in (tmp_path, tmp_path / "vectors.txt"):
        with pytest.raises(ValueError, match="is a folder, pipe or device"):
            load_embeddings(path)
    with pytest.raises(FileNotFoundError, match=r"absent\.txt"):
        load_embeddings(tmp_path / "absent.txt")
