"""What a model says over many documents: its contributions and predictions, summed up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, SentenceArray
from sk_han.inspection.contributions import Asked, LogOdds
from sk_han.inspection.methods import Source, nested_words
from sk_han.inspection.results.summary import AROUND, ClassSummary, Context, Removal, Summary, Term
from sk_han.inspection.terms import (
    PARTS,
    Decisions,
    Occurrences,
    Shown,
    ShownTerm,
    Tallies,
    Values,
    decisions,
    honesty,
    occurrences_of,
    words_for_predicted,
)
from sk_han.parts import Pool
from sk_han.parts.ngrams.hashing import keyed_ngrams
from sk_han.parts.ngrams.ngram_part import NgramAttributions
from sk_han.utils.messages import check_count

if TYPE_CHECKING:
    from sk_han.rendering.shading import Part


N_CONTEXTS = 3


class Corpus(NamedTuple):
    """What is summarized, (D,), of `n_given` documents, and the model's classes or labels.

    It is documents or explanations, of which a document may have several.
    """

    classes: Sequence[Any]
    several_labels: bool
    sources: Sequence[Any]  # with `text` and `word_spans`
    predicted: NDArray[np.int64]  # class numbers
    numbers: NDArray[np.int64]  # of the documents, among those given
    n_given: int


class Measured(NamedTuple):
    """What only a model can tell of the shown terms, in the order of their keys."""

    decisions: Decisions | None = None
    weights: NDArray[np.float64] | None = None  # (n_terms, K), of the linear models
    removal: Removal | None = None
    removal_of_class: Sequence[Removal | None] | None = None
    reads_vectors: bool = False


def drawn(n_given: int, most: int | None, random: Any) -> NDArray[np.int64]:
    """Draw the numbers of the documents that are read, in rising order."""
    if most is not None:
        check_count("max_documents", most)
    if n_given == 0:
        raise ValueError("There are no documents to summarize; pass one or more.")
    if most is None or n_given <= most:
        return np.arange(n_given)
    numbers: NDArray[np.int64] = np.sort(random.choice(n_given, int(most), replace=False))
    return numbers


def summary_of_model(
    pool: Pool,
    batches: Iterable[tuple[DocumentArray, list[Source]]],
    tokenizer: Any,
    *,
    k: int,
    numbers: NDArray[np.int64],
    n_given: int,
    random: Any,
) -> Summary:
    """Summarize what a model says over all documents of the batches.

    `numbers` (D,) are theirs among `n_given`; `random` is for samples of them.
    """
    classes, several_labels = pool.target.names.tolist(), not pool.target.has_one_label
    with_ngrams = pool.only([name for name, part in pool.parts.items() if part.sums_ngrams])
    read = _read(pool, with_ngrams, batches)
    predicted = read.probabilities.argmax(axis=1)
    corpus = Corpus(classes, several_labels, read.sources, predicted, numbers, n_given)
    shown = Shown.of(read.tallies, k)
    parts: dict[str, Any] = dict(with_ngrams.parts)
    largest = max([1, *(part.ngram_range[1] for part in parts.values())])
    found = occurrences_of(read.words, shown.keys, largest)
    weights = np.zeros((len(shown.keys), len(classes)))
    for name, part in parts.items():
        weights += with_ngrams.scales[name] * part.class_weights(shown.keys)
    measured = Measured(weights=weights, reads_vectors=not read.from_words)
    if read.from_words:
        marked = words_for_predicted(read.words, predicted, shown, found)
        measured = Measured(
            decisions(pool, read.words, predicted, found, len(shown.keys), random),
            weights,
            *honesty(pool, read.words, read.probabilities, marked, random),
        )
    names = _names(read, found, len(shown.keys), tokenizer)
    return put_together(corpus, read.tallies, shown, found, names, measured)


def put_together(
    corpus: Corpus,
    tallies: Tallies,
    shown: Shown,
    found: Occurrences,
    names: Sequence[str],
    measured: Measured,
) -> Summary:
    """Put a summary together; the occurrences and the names are of the shown terms."""
    removals = measured.removal_of_class or [None] * len(corpus.classes)

    def term_of(part: Part, number: int, term: ShownTerm) -> Term:
        position = shown.position(term.key)
        weights = measured.weights if part == "ngrams" else None
        return Term(
            text=names[position],
            part=part,
            contribution=term.total / term.n_documents,
            n_documents=term.n_documents,
            share=term.n_documents / int(tallies.n_documents[number]),
            decides=measured.decisions and measured.decisions.share(position, number),
            weight=None if weights is None else float(weights[position, number]),
            contexts=_contexts(corpus, found.of_term(position), number, term.total > 0),
        )

    def summary_of_class(number: int) -> ClassSummary:
        n_predicted = int(tallies.n_predicted[number])
        return ClassSummary(
            label=corpus.classes[number],
            n_documents=int(tallies.n_documents[number]),
            n_predicted=n_predicted,
            network=float(tallies.totals["network"][number]) / max(n_predicted, 1),
            ngrams=float(tallies.totals["ngrams"][number]) / max(n_predicted, 1),
            terms=tuple(
                term_of(part, number, term) for part in PARTS for term in shown.terms[part, number]
            ),
            removal=removals[number],
        )

    return Summary(
        tuple(map(summary_of_class, range(len(corpus.classes)))),
        len(np.unique(corpus.numbers)),
        corpus.n_given,
        measured.removal,
        corpus.several_labels,
        measured.reads_vectors,
    )


class _Read(NamedTuple):
    """Documents that a model has read, and what it says of them."""

    words: DocumentArray
    sources: list[Source]
    probabilities: NDArray[np.float64]
    tallies: Tallies
    from_words: bool  # and not from sentence vectors


def _read(
    pool: Pool, with_ngrams: Pool, batches: Iterable[tuple[DocumentArray, list[Source]]]
) -> _Read:
    """Explain each document for the most probable class and for the second.

    With two classes, what speaks for one speaks against the other. With more, and with several
    labels a document, the second one shows what the model weighs, and rare ones are seen.
    """
    n_classes = pool.target.n_scores
    tallies = Tallies(n_classes)
    words: list[DocumentArray] = []
    sources: list[Source] = []
    logits: list[NDArray[np.float64]] = []
    from_words = True
    for documents, of_batch in batches:
        score = LogOdds.of(pool, documents, Asked().of(0, len(documents)))
        of_model, values = _explained(with_ngrams, documents, score)
        ranked = np.argsort(-of_model, axis=1, kind="stable")
        predicted = ranked[:, 0]
        tallies.add(predicted, predicted, values)
        if n_classes > 1:
            rival = ranked[:, 1]
            if n_classes == 2 and pool.target.has_one_label:
                values = {part: v._replace(values=-v.values) for part, v in values.items()}
            else:
                _, values = _explained(with_ngrams, documents, score.toward(rival))
            tallies.add(rival, predicted, values)
        if isinstance(documents, SentenceArray):
            from_words, documents = False, documents.words()
        words.append(documents)
        sources += of_batch
        logits.append(of_model)
    probabilities = pool.target.probabilities(np.concatenate(logits))
    return _Read(DocumentArray.concatenate(words), sources, probabilities, tallies, from_words)


def _explained(
    with_ngrams: Pool, documents: DocumentArray, score: LogOdds
) -> tuple[NDArray[np.float64], dict[Part, Values]]:
    """Return the logits, and what words bring by the network and n-grams by the other models."""
    found = score.pool.network.gradient_attention(documents, score)
    logits = score.logits(found.logits)
    document_of = np.repeat(np.arange(len(documents)), documents.words_per_document)
    factors = score.factors(logits)
    values: dict[Part, Values] = {}
    beside, by_network = score.pool.beside_vectors, found.words
    if isinstance(documents, SentenceArray):  # no word has a share of its own in a vector
        by_network = beside.attributions(documents, factors)
    if beside.parts or not isinstance(documents, SentenceArray):
        keys, words, _ = keyed_ngrams(documents, (1, 1))
        values["network"] = Values(document_of[words], keys, by_network[words])
    parts: dict[str, Any] = dict(with_ngrams.parts)
    by_ngrams = [
        part.ngram_attributions(documents, with_ngrams.scales[name] * factors)
        for name, part in parts.items()
    ]
    by_words = score.pool.linear.without(with_ngrams.parts)
    if by_words.parts:  # such as characters: a word has what they bring
        keys, first, sizes = keyed_ngrams(documents, (1, 1))
        brought = by_words.attributions(documents, factors)[first]
        by_ngrams.append(NgramAttributions(keys, first, sizes, brought))
    if by_ngrams:
        keys, first, _, brought = map(np.concatenate, zip(*by_ngrams, strict=True))
        values["ngrams"] = Values(document_of[first], keys, brought)
    return logits, values


def _names(read: _Read, found: Occurrences, n_terms: int, tokenizer: Any) -> list[str]:
    """Write each term as the model reads its words, with blanks where the first text has some."""
    if not n_terms:
        return []
    starts = read.words.word_starts
    places = [found.of_term(term) for term in range(n_terms)]
    first = [starts[place.rows[0]] + place.first_words[0] for place in places]
    ids = [
        read.words.word_ids[word : word + place.sizes[0]].tolist()
        for word, place in zip(first, places, strict=True)
    ]
    (terms,) = nested_words(DocumentArray.from_nested([ids]), tokenizer)
    names = []
    for place, words in zip(places, terms, strict=True):
        spans = read.sources[place.rows[0]].word_spans[place.first_words[0] :]
        gaps = ["" if spans[i, 0] == spans[i - 1, 1] else " " for i in range(1, len(words))]
        names.append("".join(gap + word for gap, word in zip(["", *gaps], words, strict=True)))
    return names


def _contexts(
    corpus: Corpus, places: Occurrences, number: int, speaks_for: bool
) -> tuple[Context, ...]:
    """Choose a few places, in documents far apart, of the class if the term speaks for it."""
    fits = (corpus.predicted[places.rows] == number) == speaks_for
    chosen = np.flatnonzero(fits) if fits.any() else np.arange(len(fits))
    chosen = chosen[np.unique(places.rows[chosen], return_index=True)[1]]
    spread = np.linspace(0, len(chosen) - 1, min(N_CONTEXTS, len(chosen))).astype(int)
    contexts = []
    for place in chosen[spread]:
        row, first = places.rows[place], places.first_words[place]
        text, spans = corpus.sources[row].text, corpus.sources[row].word_spans
        start, end = int(spans[first, 0]), int(spans[first + places.sizes[place] - 1, 1])
        contexts.append(
            Context(
                document=int(corpus.numbers[row]),
                start=start,
                end=end,
                before=text[max(0, start - AROUND) : start],
                written=text[start:end],
                after=text[end : end + AROUND],
                predicted=corpus.classes[corpus.predicted[row]],
            )
        )
    return tuple(contexts)
