import re
import warnings

import numpy as np
import pandas as pd
import pytest

from sk_han import DocumentArray, SentenceEmbedder, summarize
from sk_han.datasets import make_reviews
from tests.encoders_of_sentences import HashEncoder
from tests.tiny_models import LABELS, TEXTS, tiny

THREE = ["The sun shone.", "The rain fell. Rain!", "A not good meal. Snow."]


@pytest.fixture(scope="module")
def fitted():
    return tiny(max_epochs=3).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def summary(fitted):
    return summarize(fitted, TEXTS, k=1000)


@pytest.fixture(scope="module")
def of_three():
    return tiny(max_epochs=3).fit(THREE * 6, ["sun", "rain", "snow"] * 6)


def by_word(explanations, values):
    """For each word the sums of its contributions, one for each document that has it."""
    sums = {}
    for explanation, of_words in zip(explanations, values, strict=True):
        of_document = {}
        for word, value in zip(explanation.words, of_words, strict=True):
            of_document[word.lower()] = of_document.get(word.lower(), 0.0) + value
        for word, value in of_document.items():
            sums.setdefault(word, []).append(value)
    return sums


def test_a_network_term_is_the_mean_of_its_contributions(fitted, summary):
    explanations = fitted.explain(TEXTS, target="pos", method="gradient_attention")
    found = by_word(explanations, [e.contributions - e.ngram_contributions for e in explanations])
    terms = [term for term in summary["pos"].terms if term.part == "network"]
    assert {"good", "bad", "very"} <= {term.text for term in terms} <= set(found)
    for term in terms:
        assert term.contribution == pytest.approx(np.mean(found[term.text]), abs=1e-6)
        assert term.n_documents == len(found[term.text])
        assert term.share == term.n_documents / len(TEXTS)


def test_the_ngram_part_of_a_word_is_exact():
    fitted = tiny(linear_ngrams=(1, 1)).fit(TEXTS, LABELS)
    explanations = fitted.explain(TEXTS, target="pos", method="gradient_attention")
    found = by_word(explanations, [e.ngram_contributions for e in explanations])
    terms = [t for t in summarize(fitted, TEXTS, k=1000)["pos"].terms if t.part == "ngrams"]
    assert terms
    for term in terms:
        assert term.contribution == pytest.approx(np.mean(found[term.text]), abs=1e-6)


def test_both_parts_sum_to_the_mean_contributions_of_explanations(fitted, summary):
    explanations = [
        e for e in fitted.explain(TEXTS, method="gradient_attention") if e.predicted == "neg"
    ]
    ngrams = [e.ngram_contributions.sum() for e in explanations]
    network = [e.contributions.sum() for e in explanations] - np.array(ngrams)
    assert summary["neg"].n_predicted == len(explanations) > 0
    assert summary["neg"].network == pytest.approx(np.mean(network), abs=1e-6)
    assert summary["neg"].ngrams == pytest.approx(np.mean(ngrams), abs=1e-6)


def test_ngrams_are_readable_though_the_model_knows_only_hash_values(summary):
    texts = {term.text for term in summary["pos"].terms if term.part == "ngrams"}
    assert {"good", "a good", "a good day"} <= texts


def test_weights_are_the_scaled_weights_of_the_ngram_model(fitted, summary):
    weights = {term.text: term.weight for term in summary["pos"].terms if term.part == "ngrams"}
    largest = fitted.ngram_scale_ * fitted.ngram_model_.weights.max()
    assert max(weights.values()) == pytest.approx(largest, rel=1e-6)
    against = {term.text: term.weight for term in summary["neg"].terms if term.part == "ngrams"}
    assert against["good"] == -weights["good"]


def test_a_term_counts_and_decides_the_same_documents(of_three):
    texts = [f"{a} {b} {c}" for a in THREE for b in ("", "Rain!", "Sun.") for c in ("", "Snow.")]
    classes = of_three.classes_.tolist()
    p, n_partial = of_three.predict_proba(texts), 0
    for number, each in enumerate(summarize(of_three, texts, k=1000).classes):
        counts = (np.argsort(-p, axis=1)[:, :2] == number).any(axis=1)  # the most probable two
        for word in ("sun", "rain", "snow"):
            term = next(t for t in each.terms if t.text == word and t.part == "network")
            rows = [i for i, text in enumerate(texts) if word in text.lower() and counts[i]]
            without = [re.sub(rf"(?i){word}", "", texts[i]) for i in rows]
            before, after = p[rows].argmax(axis=1), of_three.predict_proba(without).argmax(axis=1)
            decided = (before != after) & ((before == number) | (after == number))
            assert (each.label, term.n_documents) == (classes[number], len(rows))
            assert term.decides == pytest.approx(decided.mean())
            n_partial += len(rows) < sum(word in text.lower() for text in texts)
    assert n_partial > 0


def test_removing_the_shown_words_measures_their_effect():
    fitted = tiny(max_epochs=3, linear_ngrams=(1, 1)).fit(TEXTS, LABELS)
    found = summarize(fitted, TEXTS, k=2)
    whole = fitted.predict_proba(TEXTS)
    rows, predicted = np.arange(len(TEXTS)), whole.argmax(axis=1)
    vocabulary = fitted.tokenizer_.vocabulary_
    shown = [{vocabulary[t.text] for t in c.terms if t.speaks_for} for c in found.classes]
    reduced, n_left = [], 0
    for document, number in zip(fitted.tokenizer_.transform(TEXTS), predicted, strict=True):
        left = [[word for word in sentence if word not in shown[number]] for sentence in document]
        n_left += sum(map(len, left))
        reduced.append(left)
    without = fitted.predict_proba(DocumentArray.from_nested(reduced))
    removal = found.removal
    assert removal.n_documents == len(TEXTS)
    n_words = fitted.tokenizer_.transform(TEXTS).n_words
    assert removal.share_of_words == pytest.approx(1 - n_left / n_words)
    assert removal.fall == pytest.approx((whole - without)[rows, predicted].mean(), abs=1e-6)
    assert removal.changed == np.mean(without.argmax(axis=1) != predicted)
    empty = fitted.predict_proba([""])
    assert removal.fall_all == pytest.approx((whole - empty)[rows, predicted].mean(), abs=1e-6)
    assert removal.carried == pytest.approx(removal.fall / removal.fall_all)


def test_deciding_words_carry_more_than_random_ones():
    # One word tells the label, among four others in any order.
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", "delta"]
    told = [["no"], ["yes"]] * 60
    texts = [" ".join(rng.permutation(words + word)) for word in told]
    fitted = tiny(max_epochs=8).fit(texts, ["down", "up"] * 60)
    found = summarize(fitted, texts, k=1)
    (term,) = found["up"].of("network", speaks_for=True)
    assert term.text == "yes"
    assert found.removal.fall > 2 * found.removal.fall_random > 0


def test_removal_changes_nothing_in_documents_without_words(fitted):
    removal = summarize(fitted, ["", ""]).removal
    assert (removal.fall, removal.fall_random, removal.carried) == (0, 0, None)


def test_contexts_point_into_the_given_texts(fitted):
    texts = ["", *TEXTS, "A\n\tGOOD <b>day</b>. " * 3]
    for of_class in summarize(fitted, texts, k=1000).classes:
        for term in of_class.terms:
            assert 1 <= len(term.contexts) <= 3
            for context in term.contexts:
                text = texts[context.document]
                assert text[context.start : context.end] == context.written
                if "<unknown>" not in term.text:
                    written = "".join(context.written.lower().split())
                    assert written == "".join(term.text.split())
                around = context.before + context.written + context.after
                assert around in text
                assert fitted.predict([text])[0] == context.predicted


def test_contexts_of_sampled_documents_have_the_original_row_numbers(fitted):
    texts = [""] * 50 + TEXTS + [""] * 50
    found = summarize(fitted, texts, max_documents=60)
    assert (found.n_documents, found.n_given) == (60, len(texts))
    contexts = [c for term in found["pos"].terms for c in term.contexts]
    assert contexts
    assert all(texts[c.document][c.start : c.end] == c.written for c in contexts)


@pytest.mark.parametrize(
    "given",
    [
        np.array,
        iter,
        lambda texts: pd.Series(texts, index=range(9, 0, -1)),
    ],
)
def test_summarize_takes_the_same_documents_as_explain(fitted, given):
    found = summarize(fitted, given(TEXTS[:9]), max_documents=6)
    assert found == summarize(fitted, TEXTS[:9], max_documents=6)


def test_documents_of_three_classes_count_for_the_likeliest_two(of_three):
    found = summarize(of_three, THREE * 2, k=1000)
    assert sum(c.n_predicted for c in found.classes) == 6
    assert sum(c.n_documents for c in found.classes) == 12
    rain = found["rain"].of("ngrams", speaks_for=True)
    assert "rain" in {term.text for term in rain}
    likeliest = np.argsort(-of_three.predict_proba(THREE), axis=1)[:, :2]
    for number, of_class in enumerate(found.classes):
        texts = [THREE[row] for row in np.flatnonzero((likeliest == number).any(axis=1))]
        explanations = of_three.explain(texts, target=of_class.label, method="gradient_attention")
        expected = by_word(
            explanations, [e.contributions - e.ngram_contributions for e in explanations]
        )
        terms = [term for term in of_class.terms if term.part == "network"]
        assert terms
        for term in terms:
            assert term.contribution == pytest.approx(np.mean(expected[term.text]), abs=1e-6)


def test_a_class_without_near_documents_has_no_terms(of_three):
    found = summarize(of_three, ["The sun shone."])
    empty = [c for c in found.classes if c.n_documents == 0]
    assert len(empty) == 1
    assert empty[0].terms == ()
    assert empty[0].removal is None


def test_ngrams_of_chinese_are_written_without_blanks():
    good, bad = "这部电影很好。我喜欢。", "这部电影很差。我讨厌。"
    fitted = tiny().fit([good, bad] * 9, ["pos", "neg"] * 9)
    texts = {t.text for t in summarize(fitted, [good, bad], k=1000)["pos"].terms}
    assert any(len(text) > 1 for text in texts)
    assert all(text in good + bad for text in texts)


def test_unknown_words_are_one_term(fitted):
    terms = summarize(fitted, ["zebra gnu", "zebu"], k=1000)["pos"].terms
    assert {term.text for term in terms if term.part == "network"} == {"<unknown>"}


def test_summaries_of_sentence_vectors_list_network_and_ngram_words():
    documents = SentenceEmbedder(HashEncoder()).fit_transform(TEXTS)
    fitted = tiny().fit(documents, LABELS)
    found = summarize(fitted, documents)
    assert {term.part for term in found["pos"].terms} == {"network", "ngrams"}
    assert found.removal is None
    assert all(t.decides is None for t in found["pos"].terms)
    assert all((t.weight is None) == (t.part == "network") for t in found["pos"].terms)
    assert "sentence vectors, whose contributions cannot" in " ".join(found.to_text().split())


@pytest.fixture(scope="module")
def of_a_table():
    """A model of a table, its 600 rows, more than a batch, and their summary."""
    texts, labels = make_reviews(600, random_state=0)
    products = np.where(np.array(labels) == "positive", "phone", "radio")
    products[::5] = "phone"
    frame = pd.DataFrame({"text": list(texts), "product": products, "price": np.arange(600)})
    model = tiny(text_column="text").fit(frame, labels)
    return model, frame, summarize(model, frame, k=2)


def test_values_of_columns_are_terms_whose_contributions_are_exact(of_a_table):
    model, frame, summary = of_a_table
    best = summary["positive"].of("columns", speaks_for=True)[0]
    assert best.text == "product = phone"
    assert best.n_documents == (frame["product"] == "phone").sum()
    explanations = model.explain(frame, target="positive")
    of_product = [
        each.column_contributions[each.column_names.index("product")]
        for each, product in zip(explanations, frame["product"], strict=True)
        if product == "phone"
    ]
    assert best.contribution == pytest.approx(np.mean(of_product))
    assert "product = phone" in summary.to_text()


def test_a_value_decides_where_removal_changes_the_prediction(of_a_table):
    model, frame, summary = of_a_table
    term = summary["positive"].of("columns", speaks_for=True)[0]
    chosen = frame[frame["product"] == "phone"][:100]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a value that the fit has not seen
        without = model.predict(chosen.assign(product="neither"))
    assert term.decides == pytest.approx(np.mean(without != model.predict(chosen)), abs=0.15)


def test_words_are_removed_from_a_table_whose_columns_stay(of_a_table):
    model, frame, summary = of_a_table
    whole = model.predict_proba(frame).max(axis=1)
    of_columns = model.predict_proba(frame.assign(text=" "))
    predicted = model.predict_proba(frame).argmax(axis=1)
    fall = (whole - of_columns[np.arange(600), predicted]).mean()
    assert summary.removal.fall_all == pytest.approx(fall)
