"""A fitted model: its parts, the tokenizer and encoder that read texts, and its state."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, EncoderIdentity, SentenceArray, to_offsets
from sk_han._documents.repeated import TextHashes
from sk_han._model.class_mix import MIX_FIELDS, Reference, check_priors, prior_shift
from sk_han._model.fit_summary import ADDED, FIT_SUMMARY
from sk_han._model.novelty import NOVELTY, Novelty, novelty_terms
from sk_han._options import InstanceOf
from sk_han._parts import PARTS, Pool
from sk_han._parts.columns import ColumnModel, ReadTable
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.pool import (
    CHARACTERS,
    COLUMNS,
    LATENT,
    LATENT_CHARACTERS,
    NETWORK,
    NGRAMS,
    VECTORS,
    NetworkPart,
    Scale,
    pool_fields,
)
from sk_han._parts.vectors import VectorModel
from sk_han._storage.schema import (
    TRAINING,
    Array,
    Field,
    Schema,
    Size,
    Sizes,
    check,
    check_best_epoch,
)
from sk_han._targets import TARGETS, Number, Target
from sk_han._text.sentence_encoder import (
    ENCODER_IDENTITY,
    SentenceEncoder,
    SentenceReader,
    asking_for,
    is_to_be_fitted,
)
from sk_han._text.vocabulary import FittedTokenizer
from sk_han._utils.containers import Floats
from sk_han._utils.messages import warn_user
from sk_han._validation.documents import (
    as_documents,
    check_sentence_vectors,
    check_texts,
    holds_word_ids,
    replace_unknown_ids,
)

FEWEST_SCORES = 19  # of held-out documents, for intervals and novelty


class Source(NamedTuple):
    """The text of a document, with the positions of its sentences and words in it."""

    text: str
    sentence_spans: NDArray[np.int64]
    word_spans: NDArray[np.int64]
    sentence_of_word: NDArray[np.int64]
    truncated: bool
    tokens: list[str] | None = None  # the words, if some have no span of their own in the text
    column_values: Any = ()  # the values of the other columns of a table
    sentence_fields: Sequence[str] = ()  # of several text columns, that of each sentence


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted ensemble, with what prediction, explanation and storage need.

    `HANClassifier.model_` and `Scorer.model_` hold one. The class of its network decides whether
    PyTorch computes it, or Numba and NumPy. It is immutable: another fit creates another one.

    Parameters
    ----------
    pool : Pool
    tokenizer : HierarchicalTokenizer, ServedTokenizer, SentenceEmbedder or None
        Converts texts to documents; None if the model was fitted to word ids or sentence vectors.
    vocabulary_size : int
        Number of word ids; larger ids are read as the unknown word.
    encoder : EncoderIdentity or None
        The identity of the encoder whose sentence vectors a part reads, if it is known.
    sentence_encoder : SentenceEncoder or None
        The encoder itself, which reads texts; it is saved only if the fit also fitted it.
    device : str
        The device of the fit, on which the network is computed.
    history : list of dict
        Losses and scores of each epoch.
    best_epoch, best_score : int and float, or None
        The epoch whose weights were kept, and its accuracy on held-out documents.
    fit_summary : dict or None
        The entries of `FitSummary`, for the last fit.
    text_hashes : TextHashes or None
    reference : Reference or None
        Statistics of the fit with which later documents are compared; None after `partial_fit`.
    priors : ndarray of shape (K,) or None
        Priors of the classes among the documents to predict, as checked by `with_priors`.
    interval_scores : ndarray of shape (n,) or None
        For numbers, the sorted scores that calibrate intervals (`Number.interval_scores`).
    novelty : Novelty or None
        The scores that calibrate `sk_han.novelty`, if enough documents were held out.
    """

    pool: Pool
    tokenizer: Any
    vocabulary_size: int
    encoder: EncoderIdentity | None = None
    sentence_encoder: SentenceEncoder | None = None
    device: str = "cpu"
    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    best_score: float | None = None
    fit_summary: dict[str, Any] | None = None
    text_hashes: TextHashes | None = None
    reference: Reference | None = None
    priors: Floats | None = None
    interval_scores: Floats | None = None
    novelty: Novelty | None = None

    @property
    def target(self) -> Target:
        """The target, which gives scores their meaning: classes, labels or numbers."""
        return self.pool.target

    @property
    def n_iter(self) -> int:
        """Number of training epochs."""
        return len(self.history)

    def part(self, name: str) -> Any:
        """Return the part with this name, or None."""
        return self.pool.parts.get(name)

    def scale(self, name: str) -> Scale:
        """Return the factor of the logits of a part; 0 if the model has no such part."""
        return self.pool.scales.get(name, 0.0)

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns that are read, the text column first."""
        columns = self.pool.columns
        if columns is None:
            raise AttributeError("Only a HANClassifier fitted to a table has names of features.")
        return [*columns.encoder.text_columns, *columns.encoder.codings]

    def texts(self, X: Any, name: str = "X") -> list[str]:
        """Return raw texts, or the text column of a table, as a list."""
        return check_texts(self._table(X).texts, name=name)

    def _table(self, X: Any) -> ReadTable:
        """Encode the columns of a user's table; texts and documents have no columns to encode."""
        columns = self.pool.columns
        if columns is None or isinstance(X, DocumentArray):
            return ReadTable(X)
        return columns.encode(X)

    def read(self, X: Any) -> DocumentArray:
        """Convert texts, word ids or sentence vectors to documents that the parts can score."""
        table = self._table(X)
        return self.prepare(as_documents(table.texts, self.reader, table.rows))

    @property
    def reader(self) -> Any:
        """The reader of texts: the tokenizer, together with the sentence encoder if any."""
        if self.sentence_encoder is None:
            return self.tokenizer
        return SentenceReader(self.tokenizer, self.sentence_encoder)

    def read_with(self, encoder: Any, memory: Any = None, *, quiet: bool = True) -> FittedModel:
        """Return the model with a user's encoder, after checking that it is the encoder of the fit.

        At most `memory` and `quiet` change if `encoder` is None or already in use, if the fit
        fitted its own encoder, or if the model reads no texts and so does not encode sentences.
        """
        own = self.sentence_encoder
        if self.encoder is None or self.tokenizer is None or encoder is None:
            return self
        if own is not None and (own.parameter is encoder or own.fitted is not None):
            memory = None if own.fitted is not None else memory
            if (own.memory, own.quiet) == (memory, quiet):
                return self
            return replace(self, sentence_encoder=replace(own, memory=memory, quiet=quiet))
        encoder = SentenceEncoder.from_parameter(
            encoder, memory, quiet=quiet, expected=self.encoder
        )
        return replace(self, sentence_encoder=encoder)

    @property
    def needs_encoder(self) -> bool:
        """Whether reading texts needs an encoder that is missing, as after loading a file."""
        return None not in (self.encoder, self.tokenizer) and self.sentence_encoder is None

    def with_encoder(self, encoder: Any) -> FittedModel:
        """Complete a loaded model by its encoder; raise a ValueError if one is missing."""
        if self.needs_encoder and encoder is None:
            raise ValueError(asking_for(self.encoder))
        return self.read_with(encoder)

    def without_vectors(self) -> FittedModel:
        """Return the model without its part for sentence vectors: no sentence is encoded."""
        pool = self.pool.without({VECTORS})
        return replace(self, pool=pool, encoder=None, sentence_encoder=None)

    def prepare(self, documents: DocumentArray) -> DocumentArray:
        """Replace word ids beyond the vocabulary, and check that each part can read the documents.

        A TypeError or ValueError names what is missing, such as vectors of the encoder.
        """
        vectors: VectorModel | None = self.part(VECTORS)
        if vectors is not None:
            if self.needs_encoder and not isinstance(documents, SentenceArray):
                raise ValueError(f"This model is not complete: {asking_for(self.encoder)}")
            check_sentence_vectors(documents, len(vectors.center), self.encoder)
        return self.pool.validate(replace_unknown_ids(documents, self.vocabulary_size))

    def logits(self, X: Any) -> Floats:
        """Compute the sum of the scaled logits of all parts, (D, K), shifted to the priors."""
        return self.pool.logits(self.read(X))

    @property
    def known_reference(self) -> Reference:
        """The reference statistics; raises a ValueError if the model has none."""
        if self.reference is None:
            raise ValueError("partial_fit sees portions, and not the mix of all classes; use fit.")
        return self.reference

    def with_priors(self, priors: Any) -> FittedModel:
        """Return the model for other class priors; see `sk_han.with_priors`."""
        if priors is not None:
            priors = check_priors(priors, self.target, self.known_reference)
        return self._for_mix(priors)

    def _for_mix(self, priors: Floats | None) -> FittedModel:
        """Return the model whose logits are shifted to checked priors, or to none."""
        shift = self.target.offsets
        if priors is not None:
            shift = prior_shift(priors, self.known_reference, self.target)
        return replace(self, pool=replace(self.pool, shift=shift), priors=priors)

    def predict_proba(self, X: Any) -> Floats:
        """Compute the probability of each class or label, (D, K)."""
        return self.target.probabilities(self.logits(X))

    def intervals(self, X: Any, coverage: float) -> Floats:
        """Predict intervals of numbers, (D, 2); see `HANRegressor.predict_interval`."""
        # An invalid coverage raises its error before any prediction is computed.
        self.interval_ends(np.empty((0, self.target.n_scores)), coverage)
        return self.interval_ends(self.predict_proba(X), coverage)

    def interval_ends(self, p: Floats, coverage: float) -> Floats:
        """Compute intervals of numbers, (D, 2), from the probabilities of the target's knots."""
        is_share = isinstance(coverage, Real) and not isinstance(coverage, bool)
        if not is_share or not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage!r}; give a share between 0 and 1, as 0.9.")
        if not isinstance(self.target, Number):
            raise ValueError(
                f"Intervals are of numbers, and this model has learnt {self.target.labelling}."
            )
        scores = self.interval_scores
        n = 0 if scores is None else len(scores)
        place = int(np.ceil(coverage * (n + 1))) - 1
        if scores is None or n < FEWEST_SCORES or place >= n:
            need = max(FEWEST_SCORES, int(np.ceil(coverage / (1 - coverage))))
            raise ValueError(
                f"Intervals of coverage={coverage:g} need {need:,} documents, and this fit held "
                f"out {n:,}. Give more, a larger validation_fraction, or X_val and y_val."
            )
        return self.target.interval(p, max(float(scores[place]), 0.0))

    def novelty_p_values(self, documents: DocumentArray, logits: Floats) -> Floats:
        """Return the p-values of documents with these logits, (D,); see `sk_han.novelty`."""
        if self.novelty is None:
            repair = "more documents, a larger validation_fraction, or X_val and y_val"
            if self.reference is None:
                repair = "all documents to fit, since partial_fit holds none out"
            warn_user(
                f"p-values of novelty are NaN: they need {FEWEST_SCORES} documents that no part of "
                f"the model has learnt from. Give {repair}.",
                once=True,  # for all batches or partitions
            )
            return np.full(len(documents), np.nan)
        # The calibration scores are without priors.
        p = self.target.probabilities(logits - self.pool.shift + self.target.offsets)
        scores = self.novelty.score(novelty_terms(p, documents, self.pool), documents)
        return self.novelty.p_values(scores, documents)

    def locate(self, X: Any, size: int) -> Iterator[tuple[DocumentArray, list[Source]]]:
        """Yield documents, prepared for the parts, and their texts, at most `size` at a time."""
        table = self._table(X)
        X = table.texts
        if holds_word_ids(X) or self.tokenizer is None:
            documents = as_documents(X, self.reader)
            for first in range(0, len(documents), size):
                batch = documents[first : first + size]
                yield self.prepare(batch), list(self._sources_of_ids(batch))
            return
        texts = check_texts(X)
        values: list[Any] = [*zip(*table.values, strict=True)] or len(texts) * [()]
        fields = table.fields or len(texts) * [[]]
        for first in range(0, len(texts), size):
            portion = slice(first, first + size)
            documents, spans = self.reader.locate(texts[portion])
            documents.columns = None if table.rows is None else table.rows[portion]
            sources = []
            parts = texts[portion], spans, values[portion], fields[portion]
            for text, places, row, starts in zip(*parts, strict=True):
                # Starts and ends rise where words follow each other. Only then is each word the
                # text of its span; otherwise, as with lemmas, the tokens are kept.
                edges = places.word_spans.ravel()
                is_plain = (edges[1:] >= edges[:-1]).all() and (edges[1::2] > edges[::2]).all()
                source = Source(text, *places)._replace(column_values=row)
                if starts:
                    begun = [start for start, _ in starts]
                    number = np.searchsorted(begun, places.sentence_spans[:, 0], "right") - 1
                    names = [starts[k][1] for k in number.tolist()]
                    source = source._replace(sentence_fields=names)
                sources.append(source._replace(tokens=None) if is_plain else source)
            yield self.prepare(documents), sources

    def keep_words(
        self, documents: DocumentArray, sources: Sequence[Source], kept: NDArray[np.bool_]
    ) -> DocumentArray:
        """Return documents with only some of their words, by flags, (T,)."""
        if isinstance(documents, SentenceArray):
            reduced: DocumentArray = self.reader.keep_words(documents, sources, kept)
            return reduced
        return documents.keep_words(kept)

    def nested_words(self, documents: DocumentArray) -> Iterable[list[list[str]]]:
        """Return the words of each sentence of each document, or "#id" without a tokenizer."""
        if self.tokenizer is None:
            return (
                [[f"#{i}" for i in sentence] for sentence in document] for document in documents
            )
        words: list[list[list[str]]] = self.tokenizer.inverse_transform(documents)
        return words

    def _sources_of_ids(self, documents: DocumentArray) -> Iterator[Source]:
        """Yield a text for each document of word ids: its words, with one sentence per line."""
        for document in self.nested_words(documents):
            lengths = np.array([len(word) for sentence in document for word in sentence], dtype=int)
            # One space or line break follows each word.
            ends = np.cumsum(lengths + 1) - 1
            word_spans = np.stack([ends - lengths, ends], axis=1)
            n_words = np.array([len(sentence) for sentence in document], dtype=int)
            starts = to_offsets(n_words)
            sentence_spans = np.stack(
                [word_spans[starts[:-1], 0], word_spans[starts[1:] - 1, 1]], axis=1
            )
            text = "\n".join(" ".join(sentence) for sentence in document)
            numbers = np.repeat(np.arange(len(document)), n_words)
            yield Source(text, sentence_spans, word_spans, numbers, False)

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: arrays, plain values and the tokenizer."""
        return {
            **self.pool.to_state(),
            "tokenizer": self.tokenizer,
            "vocabulary_size": self.vocabulary_size,
            "encoder": None if self.encoder is None else self.encoder._asdict(),
            "fitted_encoder": self.sentence_encoder and self.sentence_encoder.fitted,
            "history": self.history,
            "best_epoch": self.best_epoch,
            "best_score": self.best_score,
            "device": self.device,
            "fit_summary": self.fit_summary,
            "text_hashes": None if self.text_hashes is None else self.text_hashes._asdict(),
            "reference": None if self.reference is None else self.reference._asdict(),
            "priors": self.priors,
            "interval_scores": self.interval_scores,
            "novelty": None if self.novelty is None else self.novelty._asdict(),
        }

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        network: type[NetworkPart],
        devices: Container[str] = ("cpu",),
    ) -> FittedModel:
        """Restore a model; raise a ValueError or TypeError if an entry is invalid.

        `network` is the class that computes the network, on the device of the fit if that is among
        `devices`, else on the CPU.
        """
        # Files that were written before these entries existed lack them.
        optional = ("reference", "priors", "fitted_encoder", "interval_scores", "novelty")
        state = {**dict.fromkeys(optional), **state}
        check(classifier_schema(), state)
        device = state["device"] if state["device"] in devices else "cpu"
        summary, hashes = state["fit_summary"], state["text_hashes"]
        if summary is not None:
            summary = {**summary, **{name: None for name in ADDED if name not in summary}}
            check(FIT_SUMMARY, summary, "fit_summary")
        encoder = state["encoder"] and EncoderIdentity(**state["encoder"])
        fitted_encoder = state["fitted_encoder"]
        names = ("tokenizer", "vocabulary_size", "history", "best_epoch", "best_score")
        model = cls(
            device=device,
            fit_summary=summary,
            text_hashes=None if hashes is None else TextHashes(**hashes),
            # A Scorer refuses networks here that it cannot compute, after all other checks.
            pool=Pool.from_state(state, {**PARTS, network.kind: network}, device),
            encoder=encoder,
            sentence_encoder=fitted_encoder
            and SentenceEncoder(fitted_encoder, fitted_encoder, encoder),
            reference=state["reference"] and Reference(**state["reference"]),
            interval_scores=state["interval_scores"],
            novelty=state["novelty"] and Novelty(**state["novelty"]),
            **{name: state[name] for name in names},
        )
        return model._for_mix(state["priors"])


def classifier_schema() -> Schema:
    """Return the schema of a fitted state, with the kinds of parts and targets registered so far.

    Its letters are K for classes, V for word ids and E for the dimension of sentence vectors.
    """
    parts = {kind: part.SCHEMA for kind, part in PARTS.items()}
    parts[NetworkPart.kind] = NetworkPart.SCHEMA
    targets = {kind: target.SCHEMA for kind, target in TARGETS.items()}
    return Schema(
        (
            Field("vocabulary_size", Size("V", 2)),
            *pool_fields(parts, targets),
            Field("encoder", ENCODER_IDENTITY, optional=True),
            Field("fitted_encoder", _check_fitted_encoder, optional=True),
            Field("tokenizer", FittedTokenizer("V"), optional=True),
            *TRAINING,
            Field("fit_summary", InstanceOf(Mapping), optional=True),
            Field("text_hashes", _TEXT_HASHES, optional=True),
            *MIX_FIELDS,
            Field("interval_scores", Array("float64", "i", -0.5, 0.5), optional=True),
            Field("novelty", NOVELTY, optional=True),
        ),
        rules=(check_best_epoch, _check_network, _check_linear_models),
    )


# For each linear model: whether it reads characters, and whether it is a latent model.
_LINEAR = {
    NGRAMS: (False, False),
    LATENT: (False, True),
    CHARACTERS: (True, False),
    LATENT_CHARACTERS: (True, True),
}
_TEXT_HASHES = Schema(
    (Field("salt", Array("uint8", "16")), Field("hashes", Array("uint64", "t", rising=True)))
)


def _check_network(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    network = state["parts"].get(NETWORK)
    if network is None or network["kind"] != NetworkPart.kind:
        raise ValueError("its parts have no network")


def _check_fitted_encoder(value: Any, where: str, sizes: Sizes) -> None:
    if not is_to_be_fitted(value):
        raise ValueError(f"its {where} must be a fitted transformer; got {type(value).__name__}")


def _check_linear_models(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    for name, kind in ((COLUMNS, ColumnModel.kind), (VECTORS, VectorModel.kind)):
        part = state["parts"].get(name)
        if part is not None and part["kind"] != kind:
            raise ValueError(f"its part {name} is of the kind {part['kind']}")
    for name, (reads_characters, is_latent) in _LINEAR.items():
        part = state["parts"].get(name)
        if part is None:
            continue
        learnt = part["learnt"]
        if part["kind"] != NgramModel.kind:
            raise ValueError(f"its part {name} is of the kind {part['kind']}")
        if (learnt["table"] is not None) != reads_characters:
            unit = "words" if reads_characters else "characters"
            raise ValueError(f"its part {name} reads {unit}")
        if learnt["problems"] is not None and is_latent:
            raise ValueError(f"its part {name} has sparse weights")
        if learnt["problems"] is None and (learnt["counts"] is None) != is_latent:
            raise ValueError(f"its part {name} {'has' if is_latent else 'lacks'} counts")
