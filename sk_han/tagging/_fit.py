"""Fitting a SequenceTagger, from the user's data to the fitted attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from torch import Tensor

from sk_han._documents import UNKNOWN_ID, DocumentArray, normal_form, to_offsets
from sk_han._fitting.single_network import relative_weights, trained_attributes, warn_of_no_stop
from sk_han._training.builder import epochs_for_steps
from sk_han._training.net import Net, resolve_device, weighted_mean
from sk_han._utils.messages import plural, warn_user
from sk_han._utils.progress import Stages
from sk_han._validation.labels import document_weights, encode_labels
from sk_han.embeddings._cooccurrence import check_embedding_init, initial_vectors
from sk_han.tagging._network import TaggingNetwork
from sk_han.tagging._tags import Token, as_sentences, as_tags, check_iob2, iob2_chunks

if TYPE_CHECKING:
    from sk_han.tagging._tagger import SequenceTagger


@dataclass(frozen=True)
class Sentences:
    """Sentences as kinds of tokens, that is distinct tokens, and the attributes of each kind."""

    kinds: DocumentArray  # (D,); ids are rows of `attributes`, from row 2
    attributes: NDArray[np.int64]  # (n_kinds, n_attributes)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence, shape (D,)."""
        return self.kinds.words_per_document

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, rows: Any) -> Sentences:
        return Sentences(self.kinds[rows], self.attributes)


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences with the class of each token and the weight of each sentence."""

    inputs: Sentences
    labels: DocumentArray  # (D,); ids are numbers of classes plus 1
    weights: NDArray[np.float64]  # (D,); positive weights of tokens in the loss, by sentence

    @property
    def targets(self) -> NDArray[np.int64]:
        """Number of the class of each token, from 0, shape (T,)."""
        return self.labels.word_ids.astype(np.int64) - 1

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> LabelledSentences:
        return LabelledSentences(self.inputs[rows], self.labels[rows], self.weights[rows])


class TaggingNet(Net):
    """`Net` with a loss per sentence, whose accuracy is that of decoded tokens.

    Class weights (C,) act by logit adjustment (Menon et al., 2021): in the loss, their logarithms
    are subtracted from the scores of tokens. A random field has no loss per token to be weighted.
    """

    def __init__(
        self,
        module: type[TaggingNetwork] = TaggingNetwork,
        *,
        class_weights: NDArray[np.float64] | None = None,
        **kwargs: Any,
    ) -> None:
        # Labels are decoded per sentence, and skorch's cached scores do not keep sentences.
        own: dict[str, Any] = {"to_tensors": _tensors, "use_caching": False}
        super().__init__(module, **own | kwargs)
        self.class_weights = class_weights

    def get_loss(
        self, y_pred: Tensor, y_true: NDArray[np.int64], X: Any = None, training: bool = False
    ) -> Tensor:
        """Compute the weighted mean loss per token from the losses of sentences."""
        if self.class_weights is not None:
            y_pred = y_pred - torch.from_numpy(np.log(self.class_weights)).to(y_pred)
        lengths = X.inputs.lengths
        labels = torch.from_numpy(y_true).to(y_pred.device)
        losses = self.module_.losses(y_pred, labels, torch.from_numpy(lengths))  # (D,)
        n_tokens = float(lengths @ X.weights) / float(X.weights.sum())
        return weighted_mean(losses, X.weights) / max(n_tokens, 1.0)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Compute the loss of a validation batch, and the accuracy of its decoded labels."""
        step = super().validation_step(batch, **fit_params)
        data, targets = batch
        with torch.inference_mode():
            lengths = torch.from_numpy(data.inputs.lengths)
            predicted = self.module_.decode(step["y_pred"], lengths).numpy(force=True)
        right = float((predicted == targets).mean()) if len(targets) else 1.0
        self.history.record_batch("valid_accuracy", right)
        return step

    def predict(self, X: LabelledSentences) -> NDArray[np.int64]:
        """Return the decoded classes of all tokens, for skorch's scoring callbacks."""
        return self.in_batches(X.inputs, "decode")

    def predict_proba(self, X: LabelledSentences) -> NDArray[np.float64]:
        """Return the probabilities of the classes of all tokens, for skorch's callbacks."""
        return self.in_batches(X.inputs, "probabilities")

    def in_batches(self, sentences: Sentences, name: str) -> NDArray[Any]:
        """Call "decode" (T,) or "probabilities" (T, C) of the network in batches."""
        read, results = getattr(self.module_, name), []
        for start in range(0, max(len(sentences), 1), self.valid_batch_size):
            batch = sentences[start : start + self.valid_batch_size]
            logits = self.compute("attend", batch).logits
            with torch.inference_mode():
                results.append(read(logits, torch.from_numpy(batch.lengths)).numpy(force=True))
        return np.concatenate(results)


def to_documents(ids: NDArray[np.integer[Any]], lengths: NDArray[np.int64]) -> DocumentArray:
    """Return documents of one sentence each, or without sentence if the length is 0."""
    filled = lengths > 0
    return DocumentArray(ids, to_offsets(lengths[filled]), to_offsets(filled))


def _tensors(sentences: Sentences, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of `TaggingNetwork.attend`."""
    return (
        torch.from_numpy(sentences.kinds.word_ids.astype(np.int64)).to(device),
        torch.from_numpy(sentences.attributes).to(device),
        torch.from_numpy(sentences.lengths),
    )


PREFIXES, SUFFIXES = (1, 2, 3), (1, 2, 3, 4)
N_FROM_WORD = 1 + len(PREFIXES) + len(SUFFIXES) + 1

# Letters or a shape that a single word has add nothing to the word itself.
_LEAST_WORDS = 2


class Kinds(NamedTuple):
    """The distinct tokens of D sentences of T tokens."""

    rows: list[tuple[str, ...]]  # each a word and its further columns
    numbers: NDArray[np.int32]  # the row of each token, shape (T,)
    lengths: NDArray[np.int64]  # number of tokens of each sentence, shape (D,)


def token_kinds(sentences: Iterable[Sequence[tuple[str, ...]]]) -> Kinds:
    """Number the distinct tokens of sentences in order of their first occurrence."""
    sentences = list(sentences)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    index: dict[tuple[str, ...], int] = {}
    numbers = [index.setdefault(token, len(index)) for token in chain.from_iterable(sentences)]
    return Kinds(list(index), np.array(numbers, dtype=np.int32), lengths)


def fit_vocabularies(kinds: Kinds) -> list[dict[str, int]]:
    """Number the values of each attribute from 2, the most frequent first."""
    n_tokens = np.bincount(kinds.numbers, minlength=len(kinds.rows)).tolist()
    n_columns = len(kinds.rows[0])
    counts: list[Counter[str]] = [Counter() for _ in range(N_FROM_WORD + n_columns - 1)]
    for row, n in zip(kinds.rows, n_tokens, strict=True):
        for i, (counter, value) in enumerate(zip(counts, _attributes(row), strict=True)):
            # Letters and shapes are counted once per distinct word.
            counter[value] += n if i < n_columns else 1
    least = [1] * n_columns + [_LEAST_WORDS] * (N_FROM_WORD - 1)
    ranked = [
        sorted((-n, value) for value, n in counter.items() if n >= smallest)
        for counter, smallest in zip(counts, least, strict=True)
    ]
    return [
        {value: rank for rank, (_, value) in enumerate(values, start=UNKNOWN_ID + 1)}
        for values in ranked
    ]


def n_values(vocabulary: Mapping[str, int]) -> int:
    """Return the number of values of an attribute, including padding and the unknown value."""
    return UNKNOWN_ID + 1 + len(vocabulary)


def word_shape(word: str) -> str:
    """Return the kinds of characters of a word, runs cut to two: "Berlin" gives "Xxx"."""
    shape: list[str] = []
    for character in word:
        if character.isdigit():
            kind = "d"
        elif character.isupper():
            kind = "X"
        else:
            kind = "x" if character.isalpha() else character
        if shape[-2:] != [kind, kind]:
            shape.append(kind)
    return "".join(shape)


def _attributes(token: tuple[str, ...]) -> tuple[str, ...]:
    """Return the word in lower case, further columns, prefixes, suffixes, and the shape."""
    word, columns = normal_form(token[0]), token[1:]
    lower = word.lower()
    prefixes, suffixes = (lower[:n] for n in PREFIXES), (lower[-n:] for n in SUFFIXES)
    return (lower, *columns, *prefixes, *suffixes, word_shape(word))


_N_STEPS = 2_000

# With fewer sentences in all epochs together, a fit is a trial that need not learn anything.
_ENOUGH_READ = 200


class _Data(NamedTuple):
    """The user's data after checks: D sentences of T tokens with C different labels."""

    sentences: list[list[Token]]
    kinds: Kinds
    classes: NDArray[Any]  # shape (C,)
    targets: NDArray[np.int64]  # shape (T,)
    weights: NDArray[np.float64]  # shape (D,)
    class_weights: NDArray[np.float64] | None  # shape (C,)
    chunks: NDArray[np.int64] | None  # shape (C,)


def fit_tagger(tagger: SequenceTagger, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Train a network, and return the fitted attributes; the tagger itself does not change."""
    check_embedding_init(tagger.embedding_init)
    device = resolve_device(tagger.device)
    rng = check_random_state(tagger.random_state)
    stages = Stages(tagger.verbose)
    with stages("sentences"):
        checked = _validate(X, y, sample_weight, tagger.scheme, tagger.class_weight)
        rows, held_out = _split(tagger, checked, rng)
        vocabularies = fit_vocabularies(token_kinds([checked.sentences[i] for i in rows]))
        vectors = tagger.embedding_init
        if hasattr(vectors, "__iter__") and not isinstance(vectors, (str, np.ndarray)):
            # Words with a pretrained vector are known, even if no training sentence has them.
            for word in vectors:
                if isinstance(word, str):
                    vocabularies[0].setdefault(normal_form(word).lower(), n_values(vocabularies[0]))
        data = LabelledSentences(
            encode_sentences(checked.kinds, vocabularies),
            to_documents(checked.targets + 1, checked.kinds.lengths),
            checked.weights,
        )
        training, validation = data[rows], data[held_out] if len(held_out) else None
    with stages("set-up"):
        n_epochs = tagger.max_epochs
        if n_epochs == "auto":
            n_epochs = epochs_for_steps(
                _N_STEPS, len(training), tagger.batch_size, least=10, most=50
            )
        sizes = [n_values(vocabulary) for vocabulary in vocabularies]
        net: TaggingNet = tagger._new_net(
            {
                "sizes": sizes,
                "n_classes": len(checked.classes),
                "unknown_id": UNKNOWN_ID,
                "chunks": None if checked.chunks is None else torch.from_numpy(checked.chunks),
            },
            TaggingNet,
            loss={"class_weights": checked.class_weights},
            n_documents=len(training),
            max_epochs=int(n_epochs),
            keep_best=validation is not None,
            device=device,
            random_state=rng,
            noise=float(tagger.adversarial_noise),
        )
    with stages("word vectors"):
        inputs, shape = training.inputs, (sizes[0], tagger.embedding_dim)
        ids = inputs.attributes[inputs.kinds.word_ids, 0].astype(np.int32)
        words = to_documents(ids, inputs.lengths)
        vectors = initial_vectors(
            tagger.embedding_init, words, training.weights, vocabularies[0], shape, rng
        )
        if vectors is not None:
            net.module_.start_from(torch.from_numpy(vectors))
    trained = trained_attributes(net, training, validation, "sentence", stages)
    if trained["n_iter_"] * len(training) >= _ENOUGH_READ:
        _warn_of_one_label(net, training, checked.classes, tagger)
    return {
        "classes_": checked.classes,
        "vocabularies_": vocabularies,
        "n_columns_": len(checked.kinds.rows[0]),
        **trained,
    }


def encode_sentences(kinds: Kinds, vocabularies: list[dict[str, int]]) -> Sentences:
    """Encode sentences for a `TaggingNet`; the id of an unknown value is 1."""
    columns = zip(*map(_attributes, kinds.rows), strict=True)
    ids = [
        [vocabulary.get(value, UNKNOWN_ID) for value in values]
        for vocabulary, values in zip(vocabularies, columns, strict=False)
    ]
    # Ids of kinds start at 2, as those of words do, so the first rows are not used.
    first = UNKNOWN_ID + 1
    attributes = np.zeros((first + len(kinds.rows), len(vocabularies)), dtype=np.int64)
    attributes[first:] = np.array(ids, dtype=np.int64).reshape(len(vocabularies), -1).T
    return Sentences(to_documents(kinds.numbers + first, kinds.lengths), attributes)


def _validate(X: Any, y: Any, sample_weight: Any, scheme: str | None, class_weight: Any) -> _Data:
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
        chunks = iob2_chunks(classes)
    class_weights = None
    if class_weight is not None:
        of_tokens = document_weights(None, class_weight, classes[targets], classes)
        class_weights = of_tokens[np.unique(targets, return_index=True)[1]]
        if not class_weights.all():
            label = classes.tolist()[int(class_weights.argmin())]
            raise ValueError(
                f"class_weight of {label!r} is 0, and a tagger needs positive weights. To leave "
                "out tokens, give their sentences a sample_weight of 0."
            )
    return _Data(sentences, kinds, classes, targets, weights, class_weights, chunks)


def _warn_of_one_label(
    net: TaggingNet, training: LabelledSentences, classes: NDArray[Any], tagger: SequenceTagger
) -> None:
    """Warn if all tokens of up to 1,000 training sentences with several labels get the same one."""
    sample = training[np.linspace(0, len(training) - 1, min(len(training), 1_000)).astype(np.int64)]
    predicted = np.unique(net.in_batches(sample.inputs, "decode")).tolist()
    if len(predicted) == 1 and len(np.unique(sample.targets)) > 1:
        label = classes.tolist()[predicted[0]]
        warn_user(
            f"The tagger has learnt nothing: after {plural(len(net.history), 'epoch')} of "
            f"{plural(len(training), 'sentence')} it gives all their tokens the label {label!r}. "
            f"Raise max_epochs={tagger.max_epochs!r} or class_weight of rare labels, lower "
            f"batch_size={tagger.batch_size}, or give more sentences.",
            ConvergenceWarning,
        )


def _split(
    tagger: SequenceTagger, checked: _Data, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of training sentences, sorted, and of held-out ones; none is empty."""
    order = rng.permutation(np.flatnonzero((checked.weights > 0) & (checked.kinds.lengths > 0)))
    if not len(order):
        raise ValueError("No sentence has a token and a weight: there is nothing to learn from.")
    n_held_out = round((tagger.validation_fraction or 0) * len(order))
    held_out, rows = order[:n_held_out], np.sort(order[n_held_out:])
    if not len(rows):
        raise ValueError(
            f"validation_fraction={tagger.validation_fraction} leaves no sentence of "
            f"{len(order):,} to learn from. Lower it, or give more sentences."
        )
    if not n_held_out:
        share = f"{len(order)} is none"
        warn_of_no_stop(tagger, "sentences", share, "Raise validation_fraction")
    return rows, held_out
