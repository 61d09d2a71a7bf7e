"""The model of characters: which words it reads, what it adds, and when a fit has one."""

import pickle

import numpy as np
import pytest

import sk_han
from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han.serving import Scorer
from tests.inflected_texts import inflected

# Tiny networks have a small share of the scores, of which attention warns.
pytestmark = pytest.mark.filterwarnings("ignore:method='attention' shows the network alone")

TINY = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "max_epochs": 1}
TINY |= {"batch_size": 64, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return HANClassifier(**TINY).fit(*inflected(400))


@pytest.fixture(scope="module")
def latent():
    """A model of sixty labels, and of six hundred texts without."""
    classifier = HANClassifier(**TINY, linear_chars=(1, 5), warm_start=True)
    return classifier.fit(*inflected(60), X_unlabelled=inflected(600, seed=3)[0])


@pytest.fixture(params=["fitted", "latent"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def others():
    return inflected(100, seed=1)


def ids_of(documents):
    """The same documents without the spelling of their words."""
    return DocumentArray.from_nested(documents.to_nested())


class TestScores:
    def test_stems_predict_the_label_of_new_words(self, fitted, others):
        texts, labels = others
        documents = fitted.tokenizer_.transform(texts)
        assert (documents.word_ids == 1).mean() > 0.9
        assert (fitted.character_model_.logits(documents).argmax(axis=1) == labels).mean() > 0.9
        assert (fitted.ngram_model_.logits(documents).argmax(axis=1) == labels).mean() < 0.7
        assert fitted.score(texts, labels) > 0.9
        assert fitted.character_scale_ > fitted.ngram_scale_

    def test_character_directions_help_with_few_labels(self, latent, others):
        assert [*latent.pool_.without(["network"]).parts] == ["characters", "latent_characters"]
        assert latent.latent_character_scale_ > 0
        alone = latent.pool_.only(["latent_characters"])
        documents = latent.tokenizer_.transform(others[0])
        assert (alone.logits(documents).argmax(axis=1) == others[1]).mean() > 0.95
        assert latent.score(*others) > 0.95

    @pytest.mark.parametrize("rows", [slice(3, 9), [4, 1], np.arange(100) % 7 == 0])
    def test_selected_and_joined_rows_keep_their_spelling(self, fitted, others, rows):
        documents = fitted.tokenizer_.transform(others[0])
        known = ids_of(fitted.tokenizer_.transform(inflected(20)[0]))
        whole = fitted.predict_proba(documents)[rows]
        for alone in (documents[rows], pickle.loads(pickle.dumps(documents[rows]))):
            np.testing.assert_allclose(fitted.predict_proba(alone), whole, atol=1e-6)
        joined = fitted.predict_proba(DocumentArray.concatenate([documents[rows], known]))
        expected = np.concatenate([whole, fitted.predict_proba(known)])
        np.testing.assert_allclose(joined, expected, atol=1e-6)

    def test_many_problems_have_sparse_weights(self):
        texts, labels = inflected(200)
        y = labels + 2 * (np.arange(200) // 2 % 20)  # 40 classes
        classifier = HANClassifier(**TINY, linear_chars=(2, 4)).fit(texts, y)
        model = classifier.character_model_
        assert (model.is_tfidf, model.ngram_range) == (True, (2, 4))
        assert np.isfinite(classifier.predict_proba(texts[:5])).all()

    def test_sentence_contributions_add_up_to_the_log_odds(self, either, others):
        texts = others[0][:5]
        explanations = either.explain(texts, target=1)
        sums = [e.base_value + e.sentence_contributions.sum() for e in explanations]
        np.testing.assert_allclose(sums, either.decision_function(texts), atol=1e-5)

    @pytest.mark.parametrize("method", ["gradient_attention", "attention"])
    def test_contributions_of_linear_parts_sum_to_their_scores(self, either, others, method):
        linear = either.pool_.others
        documents = either.tokenizer_.transform(["", *others[0][:3]])
        nothing, *scores = linear.logits(documents) @ [-1, 1]
        explanations = either.explain(others[0][:3], method=method, target=1)
        sums = [explanation.ngram_contributions.sum() for explanation in explanations]
        np.testing.assert_allclose(sums, scores - nothing, atol=1e-5)

    def test_copies_predict_the_same(self, either, others, tmp_path):
        expected = either.predict_proba(others[0])
        sk_han.save(either, tmp_path / "model.han")
        scorer = Scorer.load(tmp_path / "model.han")
        assert scorer.model_.part("characters").counts is None
        copies = scorer, sk_han.load(tmp_path / "model.han"), pickle.loads(pickle.dumps(either))
        for copy in copies:
            np.testing.assert_allclose(copy.predict_proba(others[0]), expected, atol=1e-5)


class TestTrial:
    def test_seconds_of_the_trial_are_reported_only_if_it_runs(self, fitted):
        assert fitted.fit_summary_.seconds["trial of characters"] > 0
        chosen = HANClassifier(**TINY, linear_chars=(2, 3)).fit(*inflected(100))
        assert "trial of characters" not in chosen.fit_summary_.seconds

    @pytest.mark.parametrize(
        ("data", "params", "parts"),
        [
            # No word is in two of these texts.
            (inflected(100, seed=1), {}, ["network", "characters"]),
            (inflected(99), {}, ["network", "ngrams"]),
            (sk_han.datasets.make_reviews(150, random_state=0), {}, ["network", "ngrams"]),
            (
                inflected(200),
                {"linear_ngrams": None, "linear_chars": (3, 3)},
                ["network", "characters"],
            ),
        ],
        ids=["new words", "few documents", "known words", "characters alone"],
    )
    def test_fit_chooses_parts_by_parameters_and_documents(self, data, params, parts):
        assert [*HANClassifier(**TINY, **params).fit(*data).pool_.parts] == parts

    def test_characters_are_tried_where_no_word_occurs_once(self):
        texts, labels = inflected(200)
        classifier = HANClassifier(**TINY).fit([f"{text} {text}" for text in texts], labels)
        assert "characters" in classifier.pool_.parts


class TestLaterFits:
    def test_partial_fit_continues_the_character_model(self):
        texts, labels = inflected(400)
        classifier = HANClassifier(**TINY)
        classifier.partial_fit(texts[:200], labels[:200], classes=[0, 1])
        before = classifier.character_model_
        classifier.partial_fit(texts[200:], labels[200:])
        assert len(classifier.character_model_.buckets) > len(before.buckets)
        assert classifier.score(*inflected(100, seed=2)) > 0.8

    @pytest.mark.thorough
    def test_a_warm_start_keeps_the_kinds_of_parts(self, others):
        texts, labels = inflected(300)
        model = HANClassifier(**TINY, warm_start=True, linear_chars=None).fit(texts, labels)
        model.set_params(linear_chars="auto").fit(texts, labels)
        assert model.character_model_ is None
        # Characters that are asked for begin beside an earlier latent model.
        more, _ = inflected(600, seed=3)
        model.fit(texts, labels, X_unlabelled=more).set_params(linear_chars=(1, 5))
        assert model.fit(texts, labels).character_scale_ > 0
        assert model.score(*others) > 0.8

    def test_latent_directions_are_kept_in_continued_fits(self, latent):
        texts, labels = inflected(60, seed=5)
        model = pickle.loads(pickle.dumps(latent)).fit(texts, labels)
        first, kept = (each.latent_character_model_ for each in (latent, model))
        np.testing.assert_array_equal(first.weights, kept.weights)
        moved = model.partial_fit(texts, labels).latent_character_model_
        assert not np.array_equal(moved.weights, kept.weights)

    @pytest.mark.parametrize("words", [(1, 3), None])
    def test_the_first_portion_creates_latent_directions(self, others, words):
        classifier = HANClassifier(**TINY, linear_ngrams=words, linear_chars=(1, 5))
        more = inflected(600, seed=3)[0]
        classifier.partial_fit(*inflected(200), [0, 1], X_unlabelled=more)
        assert classifier.score(*others) > 0.95
        before = classifier.pool_.parts["latent_characters"].weights
        classifier.partial_fit(*inflected(100, seed=6))
        assert not np.array_equal(classifier.pool_.parts["latent_characters"].weights, before)


def changed(classifier, name, **changes):
    """The state of a classifier with other values of a part."""
    state = classifier.to_state()
    part = state["parts"][name]
    part = {**part, "learnt": {**part["learnt"], **changes}}
    return state | {"parts": {**state["parts"], name: part}}


def replaced(classifier, name, by):
    state = classifier.to_state()
    return state | {"parts": {**state["parts"], name: state["parts"][by]}}


def test_states_of_other_models_are_refused(fitted, latent):
    learnt = fitted.to_state()["parts"]["characters"]["learnt"]
    longer = learnt["table"] | {"lengths": learnt["table"]["lengths"] + 1}
    ratios = np.abs(learnt["ratios"][:, :1])
    for state, message in [
        (replaced(fitted, "characters", "ngrams"), "its part characters reads words"),
        (replaced(latent, "latent_characters", "characters"), "latent_characters has counts"),
        (changed(fitted, "characters", counts=None, ratios=ratios), "lacks counts"),
        (changed(fitted, "characters", table=longer), "lengths do not sum"),
    ]:
        with pytest.raises(ValueError, match=message):
            HANClassifier().from_state(state)


class TestDocumentsThatDoNotKnowTheirWords:
    """Word ids do not hold how words are written that the vocabulary lacks."""

    @pytest.fixture
    def ids(self, fitted, others):
        return ids_of(fitted.tokenizer_.transform(others[0]))

    def test_every_method_refuses_words_of_unknown_spelling(self, fitted, ids, others, tmp_path):
        sk_han.save(fitted, tmp_path / "model.han")
        some = fitted.tokenizer_.transform(others[0][:5])
        both = DocumentArray.concatenate([some, ids])
        scorer = Scorer.load(tmp_path / "model.han")
        for score in (fitted.predict, fitted.predict_proba, fitted.explain, scorer.predict_proba):
            for documents in (ids, both):
                with pytest.raises(
                    ValueError, match=r"do not hold how these are written.*raw text"
                ):
                    score(documents)

    def test_word_ids_of_known_words_are_scored(self, fitted):
        texts = inflected(20)[0]
        known = ids_of(fitted.tokenizer_.transform(texts))
        np.testing.assert_allclose(fitted.predict_proba(known), fitted.predict_proba(texts))

    def test_word_ids_alone_leave_characters_out_or_are_refused(self, fitted, ids, others):
        X, y = fitted.tokenizer_.transform(inflected(400)[0]), inflected(400)[1]
        held_out = {"X_val": ids, "y_val": others[1]}
        assert "characters" in HANClassifier(**TINY).fit(X, y).pool_.parts
        assert "characters" not in HANClassifier(**TINY).fit(X, y, **held_out).pool_.parts
        model = HANClassifier(**TINY, linear_chars=(2, 3))
        with pytest.raises(ValueError, match="X_val holds word ids without their words"):
            model.fit(X, y, **held_out)
        with pytest.raises(ValueError, match="X holds word ids without their words"):
            model.fit(ids, others[1])
        model.partial_fit(*inflected(60), classes=[0, 1])
        with pytest.raises(ValueError, match="do not hold how these are written"):
            model.partial_fit(DocumentArray.from_nested([[[1, 2]]] * 100), others[1])


def test_unlabelled_texts_and_documents_give_the_same_model():
    texts, labels = inflected(200)
    more = inflected(600, seed=2)[0]
    params = {**TINY, "linear_chars": (1, 4)}
    of_texts = HANClassifier(**params, tokenizer=HierarchicalTokenizer(min_df=2))
    of_texts.fit(texts, labels, X_unlabelled=more)
    tokenizer = of_texts.tokenizer_
    of_documents = HANClassifier(**params).fit(
        tokenizer.transform(texts), labels, X_unlabelled=tokenizer.transform(more)
    )
    assert "latent_characters" in of_texts.pool_.parts
    assert (of_texts.character_model_.table.lengths[2:] > 0).all()
    documents = tokenizer.transform(texts)
    expected = of_texts.predict_proba(texts)
    np.testing.assert_allclose(of_documents.predict_proba(documents), expected, atol=1e-6)
