"""The function `summarize`, which sums the contributions of words and n-grams over a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, SentenceArray
from sk_han._model.fitted_model import FittedModel, Source
from sk_han._parts import Pool
from sk_han._parts.ngram_model import NgramAttributions
from sk_han._parts.ngrams import keyed_ngrams
from sk_han._parts.pool import NETWORK, VECTORS
from sk_han._targets import Target
from sk_han._utils.containers import take_rows
from sk_han._utils.messages import check_count, random_source
from sk_han.inspection._explanations import (
    ExplainedClasses,
    ExplainedModel,
    LogOdds,
    listed_documents,
)
from sk_han.inspection._results.summary import AROUND, ClassSummary, Context, Removal, Summary, Term
from sk_han.inspection._tallies import (
    MOST_REMOVALS,
    PART_NAMES,
    DecisionChanges,
    Occurrences,
    SelectedTerm,
    SelectedTerms,
    Tallies,
    Values,
    decision_changes,
    effects_of_removal,
    occurrences_of,
    supporting_words,
)

if TYPE_CHECKING:
    from sk_han.inspection._results.summary import Part

N_CONTEXTS = 3


def summarize(
    estimator: Any,
    X: Any,
    *,
    k: int = 10,
    max_documents: int | None = 2000,
    random_state: Any = 0,
) -> Summary:
    """Find, for each class, the words and n-grams that speak for and against it.

    For a model of numbers, it finds those that make its predictions higher or lower.

    Parameters
    ----------
    estimator : HANClassifier, HANRegressor, Pipeline or search
        A fitted estimator, as for `explain`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Documents, as for ``predict``, preferably ones that the estimator was not fitted to. No
        labels are needed.
    k : int, default=10
        Number of terms for each class, and of terms against it, from the network and from n-grams.
    max_documents : int or None, default=2000
        Maximum number of documents, drawn at random; None reads all.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the draw of documents and of random words.

    Raises
    ------
    TypeError
        If `explain` does not take the estimator.
    ValueError
        If there are no documents, or a parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    Each document is explained for its predicted class and for the most probable other class, so
    with two classes for both. A class that is never among these has no terms.

    The contributions of words in the network are "gradient_attention", an estimate (see `explain`);
    those of n-grams are exact with two classes. Terms are ranked by their mean contribution times
    the square root of the number of documents that contain them.

    For a model of numbers, the classes are "lower" and "higher" than `Summary.middle`, and
    contributions are in the unit of y; `decides`, `weight` and `removal` are None.

    For a model that reads sentence vectors, `decides` and `removal` are None.

    Examples
    --------
    >>> from sk_han import HANClassifier, summarize
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(200, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> summary = summarize(classifier.fit(texts, labels), texts, k=3)
    >>> summary
    Summary(2 classes, 200 documents)
    >>> [term.part for term in summary["positive"].terms].count("ngrams")
    6
    >>> all(term.contribution > 0 for term in summary["positive"].of("ngrams", speaks_for=True))
    True
    """
    # A Scorer imports this module, and works without scikit-learn.
    from sk_han.inspection._estimators import explained_model

    model = explained_model(estimator, "summarize")
    return summarize_model(model, X, k=k, max_documents=max_documents, random_state=random_state)


def summarize_model(
    explained: ExplainedModel, X: Any, *, k: int, max_documents: int | None, random_state: Any
) -> Summary:
    """Check the parameters of `summarize`, and sum contributions over a sample of documents."""
    check_count("k", k)
    random = random_source(random_state)
    X = listed_documents(X)
    n_documents = len(X)
    numbers = _sampled_numbers(n_documents, max_documents, random)
    if len(numbers) < n_documents:
        X = take_rows(X, numbers)
    with explained.computing():
        return _summary(explained, X, int(k), numbers, n_documents, random)


def _sampled_numbers(n_documents: int, most: int | None, random: Any) -> NDArray[np.int64]:
    """Draw the rows of the documents to read, in ascending order."""
    if most is not None:
        check_count("max_documents", most)
    if n_documents == 0:
        raise ValueError("There are no documents to summarize; pass one or more.")
    if most is None or n_documents <= most:
        return np.arange(n_documents)
    numbers: NDArray[np.int64] = np.sort(random.choice(n_documents, int(most), replace=False))
    return numbers


def _summary(
    explained: ExplainedModel,
    X: Any,
    k: int,
    numbers: NDArray[np.int64],
    n_documents: int,
    random: Any,
) -> Summary:
    """Summarize the contributions of the documents X.

    `numbers`, (D,), are their rows in the user's data; `random` draws samples of them.
    """
    model, pool = explained.fitted, explained.fitted.pool
    is_number = pool.target.is_number
    classes = ["lower", "higher"] if is_number else pool.target.names.tolist()
    with_ngrams = pool.only([name for name, part in pool.parts.items() if part.sums_ngrams])
    read = _explain_corpus(pool, with_ngrams, explained.batches(X))
    words, tallies, predicted = read.words, read.tallies, read.predicted
    shown = SelectedTerms.of(tallies, k)
    n_terms = len(shown.keys)
    parts: dict[str, Any] = dict(with_ngrams.parts)
    largest = max([1, *(part.ngram_range[1] for part in parts.values())])
    occurrences = occurrences_of(words, shown.keys, largest)
    weights = np.zeros((n_terms, len(classes)))
    for name, part in parts.items():
        # What a term adds to a number depends on the other words, so it has no fixed weight.
        if not is_number:
            weights += with_ngrams.scales[name] * part.class_weights(shown.keys)
    changes: DecisionChanges | None = None
    pairs = sorted(
        {
            (shown.position(t.key), c)
            for (p, c), ts in shown.terms.items()
            if p != "columns"
            for t in ts
        }
    )
    removal: Removal | None = None
    removals: list[Removal | None] = [None] * len(classes)
    if read.from_words and not is_number:
        marked = supporting_words(words, predicted, shown, occurrences)
        changes = decision_changes(pool, words, read.classes, occurrences, pairs, random)
        removal, removals = effects_of_removal(pool, words, read.probabilities, marked, random)
    names = _names(read, occurrences, n_terms, model)
    columns = pool.columns
    row_labels = [] if columns is None else columns.encoder.row_labels()

    def term_of_columns(number: int, term: SelectedTerm) -> Term:
        assert words.columns is not None
        assert columns is not None
        decides, weight = None, None
        if not is_number:
            brought = pool.columns_scale * columns.weights[term.key]  # (K,)
            has_value = (words.columns == term.key).any(axis=1)
            rows = np.flatnonzero(has_value & (read.classes == number).any(axis=1))
            if len(rows) > MOST_REMOVALS:
                rows = random.choice(rows, MOST_REMOVALS, replace=False)
            p = pool.target.probabilities(read.logits[rows] - brought)
            changed = DecisionChanges([predicted[rows]], [pool.target.top_label(p)])
            weight = float(brought[number])
            decides = changed.share(0, number) if read.from_words else None
        return Term(
            text=row_labels[term.key],
            part="columns",
            contribution=term.total / term.n_documents,
            n_documents=term.n_documents,
            share=term.n_documents / int(tallies.n_documents[number]),
            decides=decides,
            weight=weight,
        )

    def make_term(part: Part, number: int, term: SelectedTerm) -> Term:
        if part == "columns":
            return term_of_columns(number, term)
        position = shown.position(term.key)
        places = occurrences.of_term(position)
        return Term(
            text=names[position],
            part=part,
            contribution=term.total / term.n_documents,
            n_documents=term.n_documents,
            share=term.n_documents / int(tallies.n_documents[number]),
            decides=changes and changes.share(pairs.index((position, number)), number),
            weight=None if is_number or part == "network" else float(weights[position, number]),
            contexts=_contexts(read, classes, numbers, places, number, term.total > 0),
        )

    def summary_of_class(number: int) -> ClassSummary:
        n_predicted = int(tallies.n_predicted[number])
        return ClassSummary(
            label=classes[number],
            n_documents=int(tallies.n_documents[number]),
            n_predicted=n_predicted,
            network=float(tallies.totals["network"][number]) / max(n_predicted, 1),
            ngrams=float(tallies.totals["ngrams"][number]) / max(n_predicted, 1),
            terms=tuple(
                make_term(part, number, term)
                for part in PART_NAMES
                for term in shown.terms[part, number]
            ),
            removal=removals[number],
            columns=float(tallies.totals["columns"][number]) / max(n_predicted, 1),
        )

    of_classes = tuple(map(summary_of_class, range(len(classes))))
    several_labels = not pool.target.has_one_label
    middle = _middle(pool.target) if is_number else None
    return Summary(of_classes, len(numbers), n_documents, removal, several_labels, middle)


def _middle(target: Target) -> float:
    """Return the number above which predictions are "higher", about the median of the fit."""
    return float(np.median(target.names))


class _ExplainedCorpus(NamedTuple):
    """The explained documents of a corpus, with predictions and sums of contributions."""

    words: DocumentArray
    sources: list[Source]
    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    classes: NDArray[np.int64]  # (D, 2) or (D, 1): the predicted class and the most probable other
    tallies: Tallies
    from_words: bool  # whether predictions depend on words alone, not on sentence vectors

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The predicted class of each document, (D,)."""
        return self.classes[:, 0]


def _explain_corpus(
    pool: Pool, with_ngrams: Pool, batches: Iterable[tuple[DocumentArray, list[Source]]]
) -> _ExplainedCorpus:
    """Explain each document for its predicted class and for the most probable other class.

    The second class covers rare classes. With two classes, its contributions are those of the first
    with opposite sign.
    """
    is_number = pool.target.is_number
    n_classes = 2 if is_number else pool.target.n_scores
    tallies = Tallies(n_classes)
    words: list[DocumentArray] = []
    sources: list[Source] = []
    logits: list[NDArray[np.float64]] = []
    explained: list[NDArray[np.int64]] = []
    from_words = True
    for documents, of_batch in batches:
        classes = ExplainedClasses().batch(0, len(documents))
        score = LogOdds(pool, pool.others.logits(documents), classes)
        of_model, values = _attributions(with_ngrams, documents, score)
        # Contributions to a number speak for "higher", so they change their sign for "lower".
        if is_number:
            above = pool.target.decide(of_model) - _middle(pool.target)
            predicted, sides = (above > 0).astype(np.int64), np.column_stack([-above, above])
            signs = 2.0 * predicted - 1
            values = {k: v._replace(values=v.values * signs[v.rows]) for k, v in values.items()}
        else:
            predicted = pool.target.top_label(pool.target.probabilities(of_model))
            sides = of_model
        is_rival = np.arange(n_classes) != predicted[:, np.newaxis]
        rival = np.where(is_rival, sides, -np.inf).argmax(axis=1)
        explained.append(np.column_stack([predicted, rival])[:, :n_classes])
        tallies.add(predicted, predicted, values)
        if n_classes > 1:
            if n_classes == 2 and pool.target.has_one_label:
                values = {part: v._replace(values=-v.values) for part, v in values.items()}
            else:
                of_rival = replace(score, classes=replace(score.classes, target=rival))
                _, values = _attributions(with_ngrams, documents, of_rival)
            tallies.add(rival, predicted, values)
        from_words = not isinstance(documents, SentenceArray)
        words.append(documents.words())
        sources += of_batch
        logits.append(of_model)
    z = np.concatenate(logits)
    probabilities = pool.target.probabilities(z)
    joined = DocumentArray.concatenate(words)
    of_classes = np.concatenate(explained)
    return _ExplainedCorpus(joined, sources, z, probabilities, of_classes, tallies, from_words)


def _attributions(
    with_ngrams: Pool, documents: DocumentArray, score: LogOdds
) -> tuple[NDArray[np.float64], dict[Part, Values]]:
    """Return the logits, and the contributions of words, n-grams and column values by part."""
    attribution = score.pool.network.gradient_attention(documents, score.factors)
    logits = score.logits(attribution.logits)
    document_of = np.repeat(np.arange(len(documents)), documents.words_per_document)
    factors = score.gradient(logits)
    values: dict[Part, Values] = {}
    keys, words, _ = keyed_ngrams(documents, (1, 1))
    values["network"] = Values(document_of[words], keys, attribution.words[words])
    parts: dict[str, Any] = dict(with_ngrams.parts)
    by_ngrams = [
        part.ngram_attributions(documents, with_ngrams.scales[name] * factors)
        for name, part in parts.items()
    ]
    # Other parts, such as models of characters, have contributions of words. Sentence vectors have
    # none, since no word has a share of its own in the vector of a sentence.
    by_words = score.pool.without({NETWORK, VECTORS, *with_ngrams.parts})
    if by_words.parts:
        keys, first, sizes = keyed_ngrams(documents, (1, 1))
        brought = by_words.attributions(documents, factors)[first]
        by_ngrams.append(NgramAttributions(keys, first, sizes, brought))
    if by_ngrams:
        keys, first, _, brought = map(np.concatenate, zip(*by_ngrams, strict=True))
        values["ngrams"] = Values(document_of[first], keys, brought)
    columns = score.pool.columns
    if columns is not None:
        scaled = score.pool.columns_scale * factors
        rows, places, brought = columns.row_contributions(documents, scaled)
        values["columns"] = Values(rows, places.astype(np.uint64), brought)
    return logits, values


def _names(
    read: _ExplainedCorpus, occurrences: Occurrences, n_terms: int, model: FittedModel
) -> list[str]:
    """Spell terms in the words of the model, with blanks as at their first occurrence."""
    if not n_terms:
        return []
    starts = read.words.word_starts
    places = [occurrences.of_term(term) for term in range(n_terms)]
    first = [starts[place.rows[0]] + place.first_words[0] for place in places]
    ids = [
        read.words.word_ids[word : word + place.sizes[0]].tolist()
        for word, place in zip(first, places, strict=True)
    ]
    (terms,) = model.nested_words(DocumentArray.from_nested([ids]))
    names = []
    for place, words in zip(places, terms, strict=True):
        spans = read.sources[place.rows[0]].word_spans[place.first_words[0] :]
        follows = (spans[:-1, 1] == spans[1:, 0]) & (spans[1:, 0] < spans[1:, 1])
        gaps = ["" if follows[i] else " " for i in range(len(words) - 1)]
        names.append("".join(gap + word for gap, word in zip(["", *gaps], words, strict=True)))
    return names


def _contexts(
    read: _ExplainedCorpus,
    classes: Sequence[Any],
    numbers: NDArray[np.int64],
    places: Occurrences,
    number: int,
    speaks_for: bool,
) -> tuple[Context, ...]:
    """Choose a few occurrences of a term that support its effect.

    If the term speaks for the class, they are in documents predicted as the class, else in others.
    """
    predicted = read.predicted
    fits = (predicted[places.rows] == number) == speaks_for
    chosen = np.flatnonzero(fits) if fits.any() else np.arange(len(fits))
    chosen = chosen[np.unique(places.rows[chosen], return_index=True)[1]]
    spread = np.linspace(0, len(chosen) - 1, min(N_CONTEXTS, len(chosen))).astype(int)
    contexts = []
    for place in chosen[spread]:
        row, first = places.rows[place], places.first_words[place]
        text, spans = read.sources[row].text, read.sources[row].word_spans
        spans = spans[first : first + places.sizes[place]]
        # The words of a custom tokenizer need not occur in the text.
        in_text = spans[spans[:, 0] < spans[:, 1]]
        spans = in_text if len(in_text) else spans
        start, end = int(spans[:, 0].min()), int(spans[:, 1].max())
        contexts.append(
            Context(
                document=int(numbers[row]),
                start=start,
                end=end,
                before=text[max(0, start - AROUND) : start],
                written=text[start:end] or read.sources[row].tokens[first],
                after=text[end : end + AROUND],
                predicted=classes[predicted[row]],
            )
        )
    return tuple(contexts)
