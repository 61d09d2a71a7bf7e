import hashlib
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from sk_han.datasets import make_reviews, phrases

ALL_CLASSES = [2, 3, 4, 5]
JUDGING_WORDS = sorted(
    {
        word
        for words in (phrases.ADJECTIVES, phrases.VERBS)
        for sign in (1, -1)
        for word in words[sign]
    }
)


@pytest.fixture(scope="module")
def reviews():
    return make_reviews(2000, random_state=0, return_rationales=True)


def words_of(text):
    return re.findall(r"\w+", text.lower())


def without_spans(text, spans):
    bounds = [0, *itertools.chain.from_iterable(spans), len(text)]
    return "".join(text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))


def linear_accuracy(texts, labels, ngram_range=(1, 2)):
    vectorizer = TfidfVectorizer(ngram_range=ngram_range, sublinear_tf=True, min_df=2)
    train, test = vectorizer.fit_transform(texts[:1500]), vectorizer.transform(texts[1500:])
    model = LogisticRegression(C=10, max_iter=1000).fit(train, labels[:1500])
    return model.score(test, labels[1500:])


def test_generator_goes_on_where_it_stood():
    rng = np.random.RandomState(3)
    assert make_reviews(5, random_state=rng)[0] == make_reviews(5, random_state=3)[0]
    assert make_reviews(5, random_state=rng)[0] != make_reviews(5, random_state=3)[0]


def test_no_seed_gives_fresh_reviews():
    assert make_reviews(5)[0] != make_reviews(5)[0]


def test_seed_leaves_global_random_state_alone():
    before = np.random.get_state()[1].tolist()
    make_reviews(5, random_state=0)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize(
    ("n_classes", "digest"),
    [
        (2, "78a5137565350114899614d8b6af17cf603714d52645cf58e66f9c94a7c0a2f9"),
        (3, "8c005ea67c5831dbf99120e41ab1e806e2113e63728e722f041410473d6375d8"),
        (4, "9c091bbcfedbae7e695d7930e308d96559d2a87b54f6403ba6ad4712ee60cef2"),
        (5, "b19f43ce3a3f4a4997a098390426ce806243ba8bb8cd9fa3b559827c26607b58"),
    ],
    ids=ALL_CLASSES,
)
def test_reviews_of_a_seed_never_change(n_classes, digest):
    corpus = make_reviews(20, n_classes=n_classes, random_state=0, return_rationales=True)
    written = repr([(t, str(y), r) for t, y, r in zip(*corpus, strict=True)])
    assert hashlib.sha256(written.encode()).hexdigest() == digest


def test_rationales_do_not_change_the_reviews():
    with_rationales = make_reviews(30, random_state=0, return_rationales=True)
    without = make_reviews(30, random_state=0)
    assert with_rationales[0] == without[0]
    assert with_rationales[1].tolist() == without[1].tolist()


@pytest.mark.parametrize(
    ("n_classes", "names"),
    [
        (2, {"negative", "positive"}),
        (3, {"negative", "neutral", "positive"}),
        (4, {"very negative", "negative", "positive", "very positive"}),
        (5, {"very negative", "negative", "neutral", "positive", "very positive"}),
    ],
)
def test_classes_of_the_scale_differ_by_one_review_at_most(n_classes, names):
    labels = make_reviews(101, n_classes=n_classes, random_state=0)[1]
    counts = Counter(labels.tolist())
    assert labels.dtype.kind == "U"
    assert counts.keys() == names
    assert max(counts.values()) - min(counts.values()) <= 1


def test_classes_are_shuffled(reviews):
    changes = np.mean(reviews[1][1:] != reviews[1][:-1])
    assert 0.45 < changes < 0.55


def test_numbers_of_reviews_may_be_small_and_of_numpy():
    for n, n_classes in ((7, 2), (1, 5), (np.int64(3), np.int32(2))):
        found = make_reviews(
            n, n_classes=n_classes, random_state=np.int64(0), return_rationales=True
        )
        assert [len(each) for each in found] == [n] * 3


def test_reviews_are_different_and_about_a_hundred_words_of_some_sentences_long(reviews):
    texts, _, rationales = reviews
    assert len(set(texts)) == 2000
    sentences = [len(re.findall(r"[a-z)\"][.!?]+(?=\s+[A-Z]|$)", text)) for text in texts]
    assert 6 <= min(sentences) <= max(sentences) <= 15
    words = [len(text.split()) for text in texts]
    assert 45 <= min(words) <= max(words) <= 180
    assert 95 < np.mean(words) < 105
    assert {len(spans) for spans in rationales} == {1, 2, 3}


@pytest.mark.parametrize("n_classes", ALL_CLASSES)
def test_rationales_are_whole_clauses_about_the_reviewed_item(n_classes):
    texts, _, rationales = make_reviews(
        300, n_classes=n_classes, random_state=0, return_rationales=True
    )
    items = "|".join(phrases.ITEMS)
    subjects = "|".join(phrases.REVIEWED).format(item=f"({items})")
    about = re.compile(rf"\b({subjects})\b", re.IGNORECASE)
    for text, spans in zip(texts, rationales, strict=True):
        bounds = list(itertools.chain.from_iterable(spans))
        assert bounds == sorted(set(bounds))  # in order, without overlap
        for start, end in spans:
            assert about.search(text[start:end])
            assert any(word in JUDGING_WORDS for word in words_of(text[start:end]))
            assert text[end] in ".!,"
            assert start == 0 or text[start - 1].isspace()


def test_every_clause_about_the_item_is_a_rationale_unless_hearsay(reviews):
    for text, spans in zip(reviews[0], reviews[2], strict=True):
        rest = without_spans(text, spans)
        assert not re.search(
            r"\bitself|\breviewed here|\bI ordered here|\b[Oo]ur new|\b[Mm]y new", rest
        )


@pytest.fixture(scope="module")
def word_counts():
    texts, labels = make_reviews(6000, random_state=0)
    return {
        name: Counter(word for text in np.array(texts)[labels == name] for word in words_of(text))
        for name in ("negative", "positive")
    }


@pytest.mark.parametrize("word", JUDGING_WORDS)
def test_judging_word_is_as_frequent_in_one_class_as_in_the_other(word_counts, word):
    negative, positive = word_counts["negative"][word], word_counts["positive"][word]
    assert negative + positive > 200
    assert 0.42 < positive / (negative + positive) < 0.58


def test_bag_of_words_is_at_chance(reviews):
    assert linear_accuracy(*reviews[:2], ngram_range=(1, 1)) < 0.58


@pytest.mark.thorough
@pytest.mark.parametrize(("n_classes", "low", "high"), [(2, 0.67, 0.78), (5, 0.58, 0.7)])
def test_bag_of_words_and_pairs_is_not_enough(n_classes, low, high):
    texts, labels = make_reviews(2000, n_classes=n_classes, random_state=0)
    assert low < linear_accuracy(texts, labels) < high


@pytest.mark.parametrize("n_classes", [2, 5])
def test_text_without_its_rationales_does_not_tell_the_label(n_classes):
    texts, labels, rationales = make_reviews(
        2000, n_classes=n_classes, random_state=0, return_rationales=True
    )
    rest = [without_spans(text, spans) for text, spans in zip(texts, rationales, strict=True)]
    assert abs(linear_accuracy(rest, labels) - 1 / n_classes) < 0.06


def test_rationales_alone_tell_the_label_better_than_the_whole_text(reviews):
    texts, labels, rationales = reviews
    said = [
        " ".join(text[start:end] for start, end in spans)
        for text, spans in zip(texts, rationales, strict=True)
    ]
    assert linear_accuracy(said, labels) > linear_accuracy(texts, labels) + 0.1


def test_no_sentence_but_a_judgement_contains_a_judging_word():
    neutral = [*phrases.OPENINGS, *phrases.FILLERS, *phrases.CLOSINGS, *phrases.LEADS]
    neutral += [*phrases.REVIEWED, *phrases.OTHER_ITEMS, *phrases.OTHER_THINGS, *phrases.HEARSAY]
    neutral += itertools.chain.from_iterable(phrases.SLOTS.values())
    assert not set(JUDGING_WORDS) & {word for phrase in neutral for word in words_of(phrase)}


def test_articles_agree_with_their_nouns(reviews):
    everything = "\n".join(reviews[0])
    assert re.search(r"\ban (umbrella|iron)\b", everything)
    assert not re.search(r"\ba [aeiou]", everything)
    assert not re.search(r"\ban [^aeiou]", everything)


def test_sentences_begin_with_a_capital_and_end_with_a_stop(reviews):
    for text in reviews[0]:
        assert text[0].isupper()
        assert text[-1] in ".!?"
        assert not re.search(r"[!?] [a-z]", text)
        assert not re.search(r"\n\n[^A-Z]", text)


def test_reviews_contain_what_sentence_splitters_stumble_over(reviews):
    everything = "".join(reviews[0])
    assert not re.search(r"[{}_]", everything)  # no placeholder is left
    for stone in ("Mr. ", "e.g. ", "a.m. ", "24.90", "www.example.com", "...", "\n\n", "n't "):
        assert stone in everything


@pytest.mark.parametrize("n_classes", [0, 1, 6, "two", None])
def test_unknown_number_of_classes_is_refused(n_classes):
    with pytest.raises(ValueError, match=r"n_classes must be 2, 3, 4 or 5.*got"):
        make_reviews(10, n_classes=n_classes)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, True, "10"])
def test_number_of_reviews_below_one_or_not_whole_is_refused(n_samples):
    with pytest.raises(ValueError, match=r"n_samples must be an integer of at least 1; got"):
        make_reviews(n_samples)
