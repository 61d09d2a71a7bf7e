"""How sentence encoders of several libraries are called, and their results checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import EncoderFingerprint
from sk_han.documents.sentences import rows_beyond_limit
from sk_han.utils.files import LARGEST_NUMBER
from sk_han.utils.messages import a_kind, counted, refuse_masked
from sk_han.utils.progress import progress_bar

if TYPE_CHECKING:
    from sk_han.sentence_vectors.cache import VectorCache

Encode = Callable[[list[str]], NDArray[np.float32]]

# Frequent words of several languages and scripts, since a table of words of one language has no
# others; and a text beyond the 512 tokens at which many transformers cut. It goes from language to
# language, so that its vector tells where it was cut.
_SHORT = (
    "The film is good.",
    "Nobody had expected the train before noon, and it came at ten!",
    "7 + 5 = 12",
    "Das Haus ist gut, aber die Zeit war nicht schön.",
    "La vie est belle, mais nous avons un bon livre.",
    "El hombre no es malo y la casa está muy bien.",
    "Os meus amigos não vão para casa com você.",
    "Il giorno è bello, ma non sono con te.",
    "De man en het kind zijn niet goed.",
    "Jest dobry dzień, ale nie ma go w domu.",
    "Bu film çok güzel ve bir iyi gün.",
    "Это хороший фильм, но он не мой.",
    "Η μέρα είναι καλή και το σπίτι μου.",
    "هذا يوم جيد في البيت من العمل",
    "זה יום טוב של הבית",
    "यह एक अच्छा दिन है और घर में",
    "今天是好日子，我们都很高兴。",
    "今日はいい天気で、とても良い。",
    "오늘은 좋은 날이고 이 영화는 좋다.",
    "วันนี้เป็นวันที่ดีมาก",
)
PROBES = (*_SHORT, " ".join(" ".join([probe] * 4) for probe in _SHORT))
_N_OWN_PROBES = 8
_CAN_BE_GIVEN = (
    "an object with encode(list of str), such as a SentenceTransformer or a StaticModel of "
    "model2vec, with embed(list of str) as of fastembed, a scikit-learn transformer of text, or "
    "None"
)


def call_of(encoder: Any) -> Encode:
    """Return a function that encodes a list of sentences by an encoder, and checks the result."""
    if not isinstance(encoder, (str, type)):
        for name in ("encode", "embed", "transform"):
            method = getattr(encoder, name, None)
            if callable(method):
                return lambda sentences: _checked(
                    method([_encodable(each) for each in sentences]), sentences, encoder
                )
    repair = ""
    if isinstance(encoder, str):
        repair = f" Make the encoder first: SentenceTransformer({encoder!r})."
    elif isinstance(encoder, type):
        repair = f" Make the encoder first: {encoder.__name__}()."
    kind = type(encoder).__name__
    raise TypeError(f"encoder must be {_CAN_BE_GIVEN}; got {encoder!r} ({kind}).{repair}")


def encoded(
    encode: Encode,
    sentences: Sequence[str],
    *,
    dimension: int,
    batch_size: int,
    cache: VectorCache | None,
    progress: bool,
) -> NDArray[np.float32]:
    """Encode distinct sentences batch by batch, but those in the cache; shape (n, dimension)."""
    vectors = np.empty((len(sentences), dimension), dtype=np.float32)
    todo = np.arange(len(sentences))
    if cache is not None:
        todo = cache.read_of(encode, sentences, vectors)
    with progress_bar(len(todo), desc="encode", unit="sentence", disable=not progress) as bar:
        for start in range(0, len(todo), batch_size):
            rows = todo[start : start + batch_size]
            batch = [sentences[row] for row in rows.tolist()]
            found = encode(batch)
            if found.shape[1] != dimension:
                raise ValueError(
                    f"The encoder gave vectors of {dimension} numbers before, and now of "
                    f"{found.shape[1]}."
                )
            vectors[rows] = found
            if cache is not None:
                cache.write(batch, found)
            bar.update(len(rows))
    return vectors


def fingerprint_of(encoder: Any, probes: Sequence[str] = PROBES) -> EncoderFingerprint:
    """Return what tells an encoder from others: its name, and its vectors of some sentences.

    The last one, the longest, is encoded apart, since a batch takes the time of its longest
    sentence for each. An encoder that cannot take the built-in one is known by the others.
    """
    encode = call_of(encoder)
    vectors = encode(list(probes[:-1]))
    how: dict[str, Any] = {"dimension": vectors.shape[1], "batch_size": 1}
    try:
        last = encoded(encode, probes[-1:], **how, cache=None, progress=False)
    except Exception:  # whatever it raises of a text that is longer than it can take
        if probes is not PROBES:
            raise
    else:
        vectors = np.concatenate([vectors, last])
    return EncoderFingerprint(type(encoder).__name__, vectors)


def own_probes(sentences: Sequence[str]) -> list[str]:
    """Return a few of some sentences, from the shortest to the longest."""
    by_length = sorted(sentences, key=len)
    rows = np.linspace(0, len(by_length) - 1, _N_OWN_PROBES).astype(int)
    return [by_length[row] for row in rows]


def _encodable(sentence: str) -> str:
    """Replace what no UTF-8 has, halves of characters, which tokenizers of others refuse."""
    return sentence.encode("utf-8", "replace").decode("utf-8")


def _checked(found: Any, sentences: list[str], encoder: Any) -> NDArray[np.float32]:
    """Return the result of an encoder as an array, if it is one vector for each sentence."""
    name = type(encoder).__name__
    if hasattr(found, "tocsr"):
        raise TypeError(
            f"The encoder {name} gives a sparse matrix of {found.shape[1]:,} columns, and the "
            "network needs short vectors: put TruncatedSVD after it, in a Pipeline."
        )
    if not hasattr(found, "__len__") and hasattr(found, "__iter__"):
        found = list(found)  # fastembed yields them one by one
    are_listed = isinstance(found, (list, tuple))
    for each in found if are_listed else [found]:
        refuse_masked(each, f"An array of the encoder {name}")
    tensors = are_listed and any(hasattr(vector, "cpu") for vector in found)
    try:
        vectors = np.asarray([_on_cpu(each) for each in found] if tensors else _on_cpu(found))
    except ValueError as error:
        raise ValueError(f"The encoder {name} gives vectors of several sizes: {error}") from error
    n = len(sentences)
    expected = f"one vector for each of {counted(n, 'sentence')}, shape ({n}, d)"
    if vectors.dtype.kind not in "biuf":
        raise TypeError(
            f"The encoder {name} must give {expected}; got {a_kind(found)} of dtype "
            f"{vectors.dtype}."
        )
    if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
        raise ValueError(f"The encoder {name} must give {expected}; got shape {vectors.shape}.")
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32)  # a copy: the encoder may fill its array again
    wrong = rows_beyond_limit(vectors)
    if len(wrong):
        raise ValueError(
            f"The encoder {name} gives NaN, infinity or a number beyond {LARGEST_NUMBER:g} for "
            f"{len(wrong):,} of {counted(n, 'sentence')}, such as {sentences[wrong[0]][:60]!r}."
        )
    return vectors


def _on_cpu(found: Any) -> Any:
    """Return a tensor, perhaps of a GPU or in half precision, as NumPy can read it."""
    return found.detach().cpu().float() if hasattr(found, "cpu") else found
