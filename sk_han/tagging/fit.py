"""One fit of a SequenceTagger, from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.initial import check_embedding_init, initial_vectors
from sk_han.fitting.single_network import relative_weights, trained_attributes, warn_of_no_stop
from sk_han.tagging.attributes import Kinds, attribute_ids, learn_attributes, n_values, token_kinds
from sk_han.tagging.token_checks import Token, as_sentences, as_tags, check_iob2, chunks_of
from sk_han.tagging.training import LabelledSentences, Sentences, TaggingNet, sentences_of
from sk_han.training.builder import epochs_of
from sk_han.training.devices_and_threads import resolve_device
from sk_han.utils.counts import counted
from sk_han.utils.stage_times import Stages
from sk_han.utils.warnings import warn_user
from sk_han.validation.labels import document_weights, encode_labels

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger


_N_STEPS = 2_000
# Fewer sentences in all epochs together are a trial, and need teach nothing.
_ENOUGH_READ = 200


class _Given(NamedTuple):
    """The user's data, checked: D sentences of T tokens with C different labels."""

    sentences: list[list[Token]]
    kinds: Kinds
    classes: NDArray[Any]  # shape (C,)
    targets: NDArray[np.int64]  # shape (T,)
    weights: NDArray[np.float64]  # shape (D,)
    class_weights: NDArray[np.float64] | None  # shape (C,)
    chunks: NDArray[np.int64] | None  # shape (C,)


def learnt_attributes(tagger: SequenceTagger, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Train a network, and return the fitted attributes; the tagger itself does not change."""
    check_embedding_init(tagger.embedding_init)
    device = resolve_device(tagger.device)
    rng = check_random_state(tagger.random_state)
    stages = Stages(tagger.verbose)
    with stages("sentences"):
        given = _checked(X, y, sample_weight, tagger.scheme, tagger.class_weight)
        rows, held_out = _split(tagger, given, rng)
        known = token_kinds([given.sentences[i] for i in rows])
        vocabularies = learn_attributes(known)
        _add_words_of_vectors(vocabularies[0], tagger.embedding_init)
        data = LabelledSentences(
            encoded_sentences(given.kinds, vocabularies),
            sentences_of(given.targets + 1, given.kinds.lengths),
            given.weights,
        )
        training, validation = data[rows], data[held_out] if len(held_out) else None
    with stages("set-up"):
        n_epochs = tagger.max_epochs
        if n_epochs == "auto":
            n_epochs = epochs_of(_N_STEPS, len(training), tagger.batch_size, least=10, most=50)
        sizes = [n_values(vocabulary) for vocabulary in vocabularies]
        net: TaggingNet = tagger._new_net(
            {
                "sizes": sizes,
                "n_classes": len(given.classes),
                "unknown_id": UNKNOWN_ID,
                "chunks": None if given.chunks is None else torch.from_numpy(given.chunks),
            },
            TaggingNet,
            loss={"class_weights": given.class_weights},
            n_documents=len(training),
            max_epochs=int(n_epochs),
            keep_best=validation is not None,
            device=device,
            random_state=rng,
            noise=float(tagger.adversarial_noise),
        )
    with stages("word vectors"):
        words, shape = training.inputs.words(), (sizes[0], tagger.embedding_dim)
        vectors = initial_vectors(
            tagger.embedding_init, words, training.weights, vocabularies[0], shape, rng
        )
        if vectors is not None:
            net.set_embedding(vectors)
    trained = trained_attributes(net, training, validation, "sentence", stages)
    if trained["n_iter_"] * len(training) >= _ENOUGH_READ:
        _warn_of_one_label(net, training, given.classes, tagger)
    return {
        "classes_": given.classes,
        "vocabularies_": vocabularies,
        "n_columns_": len(given.kinds.rows[0]),
        **trained,
    }


def encoded_sentences(kinds: Kinds, vocabularies: list[dict[str, int]]) -> Sentences:
    """Return sentences as a `TaggingNet` reads them."""
    unused = np.zeros((UNKNOWN_ID + 1, len(vocabularies)), dtype=np.int64)
    attributes = attribute_ids(kinds.rows, vocabularies)
    ids = sentences_of(kinds.numbers + len(unused), kinds.lengths)
    return Sentences(ids, np.concatenate([unused, attributes]))


def _checked(X: Any, y: Any, sample_weight: Any, scheme: str | None, class_weight: Any) -> _Given:
    sentences = as_sentences(X)
    if not sentences:
        raise ValueError("Found 0 sentence(s) while a minimum of 1 is required: X is empty.")
    labels = as_tags(y, [len(sentence) for sentence in sentences])
    weights = relative_weights(sample_weight, len(sentences))
    kinds, classes = token_kinds(sentences), np.unique(labels)
    targets = encode_labels(labels, classes, "y")
    chunks = None
    if scheme == "iob2":
        check_iob2(targets, kinds.lengths, classes)
        chunks = chunks_of(classes)
    class_weights = None if class_weight is None else _of_classes(class_weight, targets, classes)
    return _Given(sentences, kinds, classes, targets, weights, class_weights, chunks)


def _of_classes(
    class_weight: Any, targets: NDArray[np.int64], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the weights of the classes (C,), from the numbers of those of tokens (T,)."""
    of_tokens = document_weights(None, class_weight, classes[targets], classes)
    first_tokens = np.unique(targets, return_index=True)[1]
    found: NDArray[np.float64] = of_tokens[first_tokens]
    if not found.all():
        label = classes.tolist()[int(found.argmin())]
        raise ValueError(
            f"class_weight of {label!r} is 0; those of a tagger are above 0. To leave tokens out, "
            "give their sentences a sample_weight of 0."
        )
    return found


def _warn_of_one_label(
    net: TaggingNet, training: LabelledSentences, classes: NDArray[Any], tagger: SequenceTagger
) -> None:
    """Warn if all tokens of up to 1,000 training sentences get one label, and have several."""
    some = training[np.linspace(0, len(training) - 1, min(len(training), 1_000)).astype(np.int64)]
    predicted = np.unique(net.read(some.inputs, "decode")).tolist()
    if len(predicted) == 1 and len(np.unique(some.targets)) > 1:
        label = classes.tolist()[predicted[0]]
        warn_user(
            f"The tagger has learnt nothing: after {counted(len(net.history), 'epoch')} of "
            f"{counted(len(training), 'sentence')} it gives all their tokens the label {label!r}. "
            f"Raise max_epochs={tagger.max_epochs!r}, lower batch_size={tagger.batch_size} so that "
            "an epoch has more steps, give more sentences, or let rare labels count more by "
            "class_weight.",
            ConvergenceWarning,
        )


def _split(
    tagger: SequenceTagger, given: _Given, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of training sentences, in order, and of held-out ones; all have tokens."""
    order = rng.permutation(np.flatnonzero((given.weights > 0) & (given.kinds.lengths > 0)))
    if not len(order):
        raise ValueError("No sentence has a token and a weight: there is nothing to learn from.")
    n_held_out = round((tagger.validation_fraction or 0) * len(order))
    held_out, rows = order[:n_held_out], np.sort(order[n_held_out:])
    if not len(rows):
        raise ValueError(
            f"validation_fraction={tagger.validation_fraction} of "
            f"{counted(len(order), 'sentence')} leaves none to learn from. Lower it, or give more "
            "sentences."
        )
    if not n_held_out:
        share = f"{len(order)} is none"
        warn_of_no_stop(tagger, "sentences", share, "Raise validation_fraction")
    return rows, held_out


def _add_words_of_vectors(vocabulary: dict[str, int], vectors: Any) -> None:
    """Number the words of a mapping too: a word that only they have is no unknown one."""
    if isinstance(vectors, (str, np.ndarray)) or not hasattr(vectors, "__iter__"):
        return
    for word in vectors:
        if isinstance(word, str):
            vocabulary.setdefault(word.lower(), n_values(vocabulary))
