"""Fitting an AttentionTranslator, from the user's data to the fitted attributes; beam search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from torch import Tensor

from sk_han._documents import DocumentArray, concatenated_ranges, to_offsets
from sk_han._fitting.single_network import relative_weights, trained_attributes, warn_of_no_stop
from sk_han._targets.splits import hold_out
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._training.net import Net, resolve_device
from sk_han._utils.messages import agreeing, plural, warn_user
from sk_han._utils.progress import Stages
from sk_han._validation.documents import as_list, check_texts
from sk_han.translation._alignment import SIGN_PATTERN, learn_forms
from sk_han.translation._network import END_ID, AttentionSeq2Seq

if TYPE_CHECKING:
    from sk_han.translation._translator import AttentionTranslator


class Hypothesis(NamedTuple):
    """A translation of a source."""

    word_ids: Tensor  # (n_words,), without the end mark
    attention: Tensor  # (n_words, source_length); the last source word is the end mark
    score: float  # log-probability / length ** length_penalty, with the end mark


@torch.no_grad()
def beam_search(
    network: AttentionSeq2Seq,
    source_ids: Tensor,
    lengths: Tensor,
    *,
    beam_size: int,
    length_penalty: float,
    max_words: Tensor,
) -> list[Hypothesis]:
    """Find the best translation of each source by beam search.

    A finished hypothesis keeps its place in the beam while it is among the best. Log-probabilities
    would favour short hypotheses, so they are divided by a power of the length (Wu et al., 2016).
    Sources (X,) and lengths (P,) are as in `AttentionSeq2Seq.encode`; `max_words` (P,) is on the
    CPU.
    """
    device, K = source_ids.device, beam_size
    memory, state = network.encode(source_ids, lengths)
    P, W = memory.mask.shape
    # The sources that still have an unfinished hypothesis.
    pairs = torch.arange(P, device=device)
    finished: list[Hypothesis | None] = [None] * P
    # At first all hypotheses of a beam are equal, so all but one get a score of minus infinity.
    scores = memory.mask.new_full((P, K), float("-inf"))  # sums of logarithms
    scores[:, 0] = 0
    ended = torch.zeros(P, K, dtype=torch.bool, device=device)
    n_words = torch.zeros(P, K, dtype=torch.int64, device=device)
    words = torch.full((P * K, 1), END_ID, device=device)
    attention = memory.mask.new_zeros(P * K, 0, W)
    pair_of_row = pairs.repeat_interleave(K)  # the pair of each row
    memory, state = memory.select(pair_of_row), state.select(pair_of_row)
    most = max_words.to(device)
    for step in range(int(max_words.max()) + 1):
        n = len(pairs)
        state, weights = network.step(memory, state, network.target_embedding(words[:, -1]))
        logs = torch.log_softmax(network.logits(state.attentional), dim=1).view(n, K, -1)
        V = logs.shape[2]
        ends = ended | (step >= most[pairs]).unsqueeze(1)  # (n, K)
        end_score = logs[:, :, END_ID].masked_fill(ended, 0)
        logs = logs.masked_fill(ends.unsqueeze(2), float("-inf"))
        logs[:, :, END_ID] = end_score
        after = scores.unsqueeze(2) + logs  # (n, K, V)
        length = (n_words + (~ended)).clamp(min=1).to(after)  # of words and end mark
        ranked = after / length.pow(length_penalty).unsqueeze(2)
        best, place = ranked.view(n, K * V).topk(K, dim=1)  # (n, K)
        parent, word = place // V, place % V
        scores = after.view(n, K * V).gather(1, place)
        was_ended = ended.gather(1, parent)
        n_words = n_words.gather(1, parent) + (~was_ended)
        # A score of minus infinity belongs to a hypothesis that does not exist.
        ended = was_ended | (word == END_ID) | scores.isneginf()
        rows = (torch.arange(n, device=device).unsqueeze(1) * K + parent).view(-1)
        words = torch.cat([words[rows], word.view(-1, 1)], dim=1)
        attention = torch.cat([attention[rows], weights[rows].unsqueeze(1)], dim=1)
        state = state.select(rows)

        done = ended.all(dim=1)
        for i in done.nonzero().squeeze(1).tolist():
            pair, row, count = int(pairs[i]), i * K, int(n_words[i, 0]) - 1
            attended = attention[row, :count, : int(lengths[pair])]
            finished[pair] = Hypothesis(words[row, 1 : 1 + count], attended, float(best[i, 0]))
        if done.all():
            break
        if done.any():
            kept = (~done).nonzero().squeeze(1)
            rows = (kept.unsqueeze(1) * K + torch.arange(K, device=device)).view(-1)
            pairs, scores, ended, n_words = pairs[kept], scores[kept], ended[kept], n_words[kept]
            words, attention = words[rows], attention[rows]
            memory, state = memory.select(rows), state.select(rows)
    return [hypothesis for hypothesis in finished if hypothesis is not None]


# Number of batches that are sorted by length together, and then read in random order.
SORTED_BATCHES = 50

# Rows that the decoder computes at once, one for each hypothesis.
ROWS_SEARCHED = 320


@dataclass(frozen=True)
class TextPairs:
    """Sources with their targets, without end marks, and the weight of each pair."""

    sources: DocumentArray  # (P,)
    translations: DocumentArray  # (P,)
    pair_weights: NDArray[np.float64]  # (P,); positive, of the words of each target in the loss

    @property
    def inputs(self) -> TextPairs:
        """The pairs themselves, since a decoder also reads the previous words of the target."""
        return self

    @property
    def targets(self) -> NDArray[np.int64]:
        """Words of all targets, with end marks, shape (Y,)."""
        return with_end_marks(self.translations)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each of `targets`, shape (Y,)."""
        return np.repeat(self.pair_weights, self.translations.words_per_document + 1)

    def order(self, batch_size: int, shuffle: np.random.RandomState) -> NDArray[np.int64]:
        """Draw an order in which the targets, and the sources, of a batch have similar lengths."""
        n, at_once = len(self), batch_size * SORTED_BATCHES
        lengths = self.translations.words_per_document, self.sources.words_per_document
        drawn = shuffle.permutation(n)
        pools = [drawn[start : start + at_once] for start in range(0, n, at_once)]
        rows = np.concatenate([p[np.lexsort((lengths[1][p], lengths[0][p]))] for p in pools])
        n_full = n // batch_size
        batches = rows[: n_full * batch_size].reshape(n_full, batch_size)
        return np.concatenate(
            [batches[shuffle.permutation(n_full)].ravel(), rows[n_full * batch_size :]]
        )

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: Any) -> TextPairs:
        return TextPairs(self.sources[rows], self.translations[rows], self.pair_weights[rows])


class TranslationNet(Net):
    """`Net` that predicts the words of targets, and translates by beam search."""

    def __init__(self, module: type[AttentionSeq2Seq] = AttentionSeq2Seq, **kwargs: Any) -> None:
        super().__init__(module, **{"to_tensors": _tensors} | kwargs)

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The ids of the words of targets."""
        return np.arange(len(self.module_.output_bias))

    def search(
        self,
        sources: DocumentArray,
        *,
        beam_size: int,
        length_penalty: float,
        max_words: NDArray[np.int64],
    ) -> list[Hypothesis]:
        """Search for the translation of each source; see `beam_search` for the arguments."""
        hypotheses: list[Hypothesis] = []
        order = np.argsort(sources.words_per_document, kind="stable")
        at_once = max(1, ROWS_SEARCHED // beam_size)
        with torch.inference_mode(), self._own_settings():
            for start in range(0, len(order), at_once):
                rows = order[start : start + at_once]
                hypotheses += beam_search(
                    self.module_,
                    *_source_tensors(sources[rows], self.device),
                    beam_size=beam_size,
                    length_penalty=length_penalty,
                    max_words=torch.from_numpy(max_words[rows]),
                )
        return [hypotheses[i] for i in np.argsort(order, kind="stable")]


def with_end_marks(documents: DocumentArray, *, in_front: bool = False) -> NDArray[np.int64]:
    """Return the words of all documents, with an end mark after or in front of each document."""
    ends = np.cumsum(documents.words_per_document)
    places = np.concatenate([[0], ends[:-1]]) if in_front else ends
    return np.insert(documents.word_ids.astype(np.int64), places, END_ID)


def _source_tensors(sources: DocumentArray, device: str) -> tuple[Tensor, Tensor]:
    return (
        torch.from_numpy(with_end_marks(sources)).to(device),
        torch.from_numpy(sources.words_per_document + 1),
    )


def _tensors(pairs: TextPairs, device: str) -> tuple[Tensor, ...]:
    """Return the arguments of `AttentionSeq2Seq.attend`."""
    return (
        *_source_tensors(pairs.sources, device),
        torch.from_numpy(with_end_marks(pairs.translations, in_front=True)).to(device),
        torch.from_numpy(pairs.translations.words_per_document + 1),
    )


# From this number of pairs on, words of a single text are unknown words, so that the network learns
# how to translate unknown words.
_MANY_PAIRS = 1000
_Texts = tuple[list[str], list[str]]


def fit_translator(
    translator: AttentionTranslator,
    source_texts: Any,
    target_texts: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
) -> dict[str, Any]:
    """Train a network, and return the fitted attributes; the translator itself does not change."""
    device = resolve_device(translator.device)
    rng = check_random_state(translator.random_state)
    stages, max_words = Stages(translator.verbose), translator.max_words
    with stages("texts"):
        fraction = translator.validation_fraction
        data = source_texts, target_texts, sample_weight, X_val, y_val
        texts, weights, held_out = _validate(*data, fraction, rng)
        n_pairs = len(weights)
        # Both vocabularies are learnt from the training texts alone.
        tokenizers = (
            _tokenizer(translator.source_tokenizer, n_pairs),
            _tokenizer(translator.target_tokenizer, n_pairs),
        )
        names = "source_texts", "target_texts"
        sources, targets = map(_fit_transform, tokenizers, texts, names)
        training = _readable(TextPairs(sources, targets, weights), max_words)
        if not len(training):
            raise ValueError(
                f"Of {plural(n_pairs, 'training pair')} none has 1 to max_words={max_words} words "
                "on both sides: there is nothing to learn from."
            )
        validation = _validation(held_out, tokenizers, max_words)
        if validation is None and X_val is not None:
            raise ValueError(
                f"None of the pairs of X_val and y_val has 1 to max_words={max_words} words on "
                "both sides, so the best epoch cannot be chosen. Give others, or leave them out."
            )
        if validation is None:
            repair = "Give X_val and y_val or more pairs"
            warn_of_no_stop(translator, "pairs", "the pairs has none to read", repair)
        documents, spans = tokenizers[1].locate(texts[1])
        forms, glued, capitals = learn_forms(
            texts[1], documents, [s.word_spans for s in spans], tokenizers[1].vocabulary_
        )
    with stages("set-up"):
        source_size, target_size = (max(t.vocabulary_.values()) + 1 for t in tokenizers)
        smoothing = float(translator.label_smoothing)
        net = translator._new_net(
            {"source_size": source_size, "target_size": target_size},
            TranslationNet,
            loss={"criterion__label_smoothing": smoothing},
            n_documents=len(training),
            max_epochs=translator.max_epochs,
            keep_best=validation is not None,
            device=device,
            random_state=rng,
        )
    return {
        "source_tokenizer_": tokenizers[0],
        "target_tokenizer_": tokenizers[1],
        "forms_": forms,
        "glued_": glued,
        "capitals_": capitals,
        **trained_attributes(net, training, validation, "pair", stages),
    }


def as_sequences(documents: DocumentArray, max_words: int | None = None) -> DocumentArray:
    """Return documents of one sentence each, truncated to `max_words` words."""
    lengths = documents.words_per_document
    if max_words is not None:
        lengths = np.minimum(lengths, max_words)
    starts = documents.word_starts[:-1]
    ids = documents.word_ids[concatenated_ranges(starts, lengths)]
    return DocumentArray._from_arrays(
        ids, to_offsets(lengths[lengths > 0]), to_offsets(lengths > 0)
    )


def _validate(
    source_texts: Any,
    target_texts: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
    fraction: float | None,
    rng: np.random.RandomState,
) -> tuple[_Texts, NDArray[np.float64], _Texts | None]:
    """Check the data; return training pairs, their weights (P,), and held-out pairs or None."""
    texts = check_pairs(source_texts, target_texts, ("source_texts", "target_texts"))
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    held_out = None if X_val is None else check_pairs(X_val, y_val, ("X_val", "y_val"))
    weights = relative_weights(sample_weight, len(texts[0]))
    rows = np.flatnonzero(weights > 0)
    if held_out is None and fraction is not None:
        kept, others = hold_out(np.zeros(len(rows), int), fraction, rng)
        held_out = None if others is None else _take_rows(texts, rows[others])
        rows = rows[kept]
    return _take_rows(texts, rows), weights[rows], held_out


def _take_rows(texts: _Texts, rows: NDArray[np.int64]) -> _Texts:
    return [texts[0][i] for i in rows], [texts[1][i] for i in rows]


def _validation(
    held_out: _Texts | None, tokenizers: tuple[HierarchicalTokenizer, ...], max_words: int
) -> TextPairs | None:
    """Return held-out pairs sorted by length; None if no pair can be read."""
    if held_out is None:
        return None
    sides: list[Any] = [t.transform(side) for t, side in zip(tokenizers, held_out, strict=True)]
    pairs = _readable(TextPairs(sides[0], sides[1], np.ones(len(held_out[0]))), max_words)
    order = np.argsort(pairs.translations.words_per_document, kind="stable")
    return pairs[order] if len(order) else None


def _fit_transform(tokenizer: HierarchicalTokenizer, texts: list[str], name: str) -> DocumentArray:
    """Fit the tokenizer of one side, and return its documents; errors name the side."""
    try:
        return tokenizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _tokenizer(tokenizer: HierarchicalTokenizer | None, n_pairs: int) -> HierarchicalTokenizer:
    if tokenizer is None:
        least = 2 if n_pairs >= _MANY_PAIRS else 1
        return HierarchicalTokenizer(token_pattern=SIGN_PATTERN, min_df=least)
    return clone(tokenizer).set_params(output="ragged")


def _readable(pairs: TextPairs, max_words: int) -> TextPairs:
    """Leave out pairs with an empty side, or one of more than `max_words` words."""
    lengths = np.stack([pairs.sources.words_per_document, pairs.translations.words_per_document])
    n_long = int((lengths > max_words).any(axis=0).sum())
    if n_long:
        warn_user(
            f"{n_long:,} of {plural(len(pairs), 'pair')} {agreeing(n_long, 'have')} more than "
            f"max_words={max_words} words and {agreeing(n_long, 'are')} left out. Split them into "
            "sentences, or raise max_words."
        )
    kept = np.flatnonzero(((lengths > 0) & (lengths <= max_words)).all(axis=0))
    chosen = pairs[kept]
    return TextPairs(
        as_sequences(chosen.sources), as_sequences(chosen.translations), chosen.pair_weights
    )


def check_pairs(sources: Any, targets: Any, names: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Check texts and translations, and return them as lists; errors name the argument and pair."""
    if targets is None:
        raise ValueError(
            "This AttentionTranslator estimator requires y to be passed, but the target y is None: "
            f"give {names[1]}, the translations of {names[0]}."
        )
    lists = [as_list(texts, name) for texts, name in zip((sources, targets), names, strict=True)]
    lengths = [len(texts) for texts in lists]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"{names[0]} has {lengths[0]} texts and {names[1]} has {lengths[1]}; each source needs "
            "the target at the same place."
        )
    if not lengths[0]:
        raise ValueError(f"Found 0 pair(s) while a minimum of 1 is required: {names[0]} is empty.")
    first, second = (
        check_texts(texts, name=name, called=f"{name} of pair {{}}".format)
        for texts, name in zip(lists, names, strict=True)
    )
    return first, second
