"""The model of characters: which words it reads, what it says, and when a fit has one."""

import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import sk_han
from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han.serving import Scorer
from tests.inflected_texts import inflected

TINY = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "max_epochs": 1}
TINY |= {"batch_size": 64}


@pytest.fixture(scope="module")
def fitted():
    texts, labels = inflected(400)
    return HANClassifier(**TINY, random_state=0).fit(texts, labels)


@pytest.fixture(scope="module")
def others():
    return inflected(100, seed=1)


class TestCharacterModel:
    def test_a_document_is_read_the_same_beside_others(self, fitted, others):
        documents = fitted.tokenizer_.transform(others[0])
        known = fitted.tokenizer_.transform(inflected(20)[0])
        of_ids = DocumentArray.from_nested(known.to_nested())
        both = DocumentArray.concatenate([documents, of_ids])
        alone = [fitted.predict_proba(each) for each in (documents, of_ids)]
        np.testing.assert_allclose(fitted.predict_proba(both), np.concatenate(alone), atol=1e-6)

    def test_attributions_add_up_to_the_logits(self, fitted, others):
        model = fitted.character_model_
        documents = fitted.tokenizer_.transform(others[0])
        factors = np.tile([-1.0, 1.0], (len(documents), 1))
        words = model.attributions(documents, factors)
        found = np.add.reduceat(words, documents.sentence_starts[documents.document_starts[:-1]])
        nothing = model.logits(DocumentArray.from_nested([[]]))
        expected = (factors * (model.logits(documents) - nothing)).sum(axis=1)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)

    def test_stems_say_the_label_of_words_that_are_new(self, fitted, others):
        texts, labels = others
        documents = fitted.tokenizer_.transform(texts)
        assert (documents.word_ids == 1).mean() > 0.9
        assert (fitted.character_model_.logits(documents).argmax(axis=1) == labels).mean() > 0.9
        assert (fitted.ngram_model_.logits(documents).argmax(axis=1) == labels).mean() < 0.7

    def test_many_problems_have_sparse_weights(self):
        texts, labels = inflected(200)
        y = labels + 2 * (np.arange(200) // 2 % 20)  # 40 classes
        classifier = HANClassifier(**TINY, linear_chars=(2, 4)).fit(texts, y)
        model = classifier.character_model_
        assert (model.is_tfidf, model.ngram_range) == (True, (2, 4))
        assert np.isfinite(classifier.predict_proba(texts[:5])).all()


class TestInAClassifier:
    def test_a_pipeline_says_the_same_as_the_classifier_of_texts(self, fitted, others):
        texts, labels = inflected(400)
        pipeline = make_pipeline(HierarchicalTokenizer(), HANClassifier(**TINY, random_state=0))
        pipeline.fit(texts, labels)
        np.testing.assert_array_equal(
            pipeline.predict_proba(others[0]), fitted.predict_proba(others[0])
        )

    def test_new_words_count(self, fitted, others):
        assert fitted.score(*others) > 0.9
        assert fitted.character_scale_ > fitted.ngram_scale_
        assert "character" in str(fitted.fit_summary_)

    def test_the_trial_is_a_stage_of_a_fit_that_has_one(self, fitted):
        assert fitted.fit_summary_.seconds["trial of characters"] > 0
        chosen = HANClassifier(**TINY, random_state=0, linear_chars=(2, 3)).fit(*inflected(100))
        assert "trial of characters" not in chosen.fit_summary_.seconds

    @pytest.mark.parametrize("rows", [slice(3, 9), [4, 1], np.arange(100) % 7 == 0])
    def test_rows_keep_their_spelling(self, fitted, others, rows):
        documents = fitted.tokenizer_.transform(others[0])
        whole = fitted.predict_proba(documents)
        np.testing.assert_allclose(fitted.predict_proba(documents[rows]), whole[rows], atol=1e-6)
        loaded = pickle.loads(pickle.dumps(documents[rows]))
        np.testing.assert_allclose(fitted.predict_proba(loaded), whole[rows], atol=1e-6)
        joined = DocumentArray.concatenate(
            [documents[rows], fitted.tokenizer_.transform(["mobil"])]
        )
        np.testing.assert_allclose(fitted.predict_proba(joined)[:-1], whole[rows], atol=1e-6)

    def test_bars_add_up(self, fitted, others):
        texts = others[0][:5]
        nothing = fitted.decision_function([""])
        for explanation, score in zip(
            fitted.explain(texts, target=1), fitted.decision_function(texts), strict=True
        ):
            assert explanation.contributions.sum() == pytest.approx(score - nothing[0], abs=1e-5)

    @pytest.mark.parametrize("method", ["gradient_attention", "attention"])
    def test_linear_models_bring_what_their_scores_say(self, fitted, others, method):
        others_alone = fitted.pool_.others
        (nothing,) = others_alone.logits(DocumentArray.from_nested([[]])) @ [-1, 1]
        for explanation in fitted.explain(others[0][:3], method=method, target=1):
            documents = fitted.tokenizer_.transform([explanation.text])
            (score,) = others_alone.logits(documents) @ [-1, 1]
            brought = explanation.ngram_contributions.sum()
            assert brought == pytest.approx(score - nothing, abs=1e-5)

    def test_summaries_have_what_explanations_say(self, fitted, others):
        texts = others[0]
        found = sk_han.summarize(fitted, texts)[1]
        of_class = [
            e for e in fitted.explain(texts, method="gradient_attention") if e.predicted == 1
        ]
        linear = [e.ngram_contributions.sum() for e in of_class]
        assert found.n_predicted == len(linear) > 0
        assert found.ngrams == pytest.approx(np.mean(linear), abs=1e-5)

    def test_every_file_says_the_same(self, fitted, others, tmp_path):
        expected = fitted.predict_proba(others[0])
        sk_han.save(fitted, tmp_path / "model.han")
        scorer = Scorer.load(tmp_path / "model.han")
        np.testing.assert_allclose(scorer.predict_proba(others[0]), expected, atol=1e-5)
        loaded = sk_han.load(tmp_path / "model.han")
        np.testing.assert_allclose(loaded.predict_proba(others[0]), expected, atol=1e-6)
        joblib.dump(fitted, dumped := io.BytesIO())
        dumped.seek(0)
        np.testing.assert_array_equal(joblib.load(dumped).predict_proba(others[0]), expected)
        assert scorer.model_.part("characters").counts is None

    def test_portions_go_on_with_it(self):
        texts, labels = inflected(400)
        classifier = HANClassifier(**TINY, random_state=0)
        classifier.partial_fit(texts[:200], labels[:200], classes=[0, 1])
        before = classifier.character_model_
        classifier.partial_fit(texts[200:], labels[200:])
        assert len(classifier.character_model_.buckets) > len(before.buckets)
        assert classifier.score(*inflected(100, seed=2)) > 0.8

    @pytest.mark.parametrize("more", [0, 1])
    def test_more_characters_than_memory_is_for_are_not_read(self, monkeypatch, more):
        texts, labels = inflected(400)
        documents = HierarchicalTokenizer().fit_transform(texts)
        most = sum(len("".join(text.split())) for text in texts) - more
        monkeypatch.setattr("sk_han._fitting.sources._MOST_CHARACTERS", most)
        fitted = HANClassifier(**TINY, random_state=0).fit(documents, labels)
        assert ("characters" in fitted.pool_.parts) == (more == 0)

    @pytest.mark.thorough
    def test_a_warm_start_keeps_the_kinds_of_parts(self, fitted):
        texts, labels = inflected(400)
        begun = HANClassifier(**TINY, random_state=0, warm_start=True, linear_chars=None)
        begun.fit(texts, labels).set_params(linear_chars="auto").fit(texts, labels)
        assert begun.character_model_ is None
        going_on = HANClassifier(**TINY, random_state=0, warm_start=True).fit(texts, labels)
        going_on.fit(texts[:120], labels[:120])
        assert going_on.character_model_ is not None

    def test_characters_are_tried_where_words_tell_nothing(self):
        texts, labels = inflected(100, seed=1)  # no word is in two of them
        classifier = HANClassifier(**TINY, random_state=0).fit(texts, labels)
        assert [*classifier.pool_.parts] == ["network", "characters"]

    def test_they_are_tried_too_where_no_word_occurs_once(self):
        texts, labels = inflected(200)
        classifier = HANClassifier(**TINY, random_state=0)
        classifier.fit([f"{text} {text}" for text in texts], labels)
        assert "characters" in classifier.pool_.parts

    @pytest.mark.parametrize("n", [0, 99])
    def test_few_documents_and_known_words_need_none(self, n):
        texts, labels = inflected(99) if n else sk_han.datasets.make_reviews(150, random_state=0)
        assert HANClassifier(**TINY).fit(texts, labels).character_model_ is None

    def test_it_can_be_the_only_linear_model(self, others):
        texts, labels = inflected(200)
        classifier = HANClassifier(**TINY, linear_ngrams=None, linear_chars=(3, 3))
        assert [*classifier.fit(texts, labels).pool_.parts] == ["network", "characters"]
        assert "ngrams" not in classifier.pool_.parts
        assert classifier.score(*others) > 0.8

    @pytest.mark.parametrize("sizes", [(0, 2), (3, 2), (2,), (2.0, 3), "word"])
    def test_wrong_sizes_are_refused(self, sizes):
        with pytest.raises(ValueError, match="linear_chars"):
            HANClassifier(**TINY, linear_chars=sizes).fit(*inflected(20))

    def test_ids_without_words_are_refused(self):
        texts, labels = inflected(20)
        documents = HierarchicalTokenizer().fit_transform(texts)
        of_ids = DocumentArray.from_nested(documents.to_nested())
        with pytest.raises(ValueError, match="word ids without their words"):
            HANClassifier(**TINY, linear_chars=(2, 5)).fit(of_ids, labels)

    def test_a_file_with_another_kind_in_its_place_is_refused(self, fitted):
        state = fitted.to_state()
        state["parts"] = {**state["parts"], "characters": state["parts"]["ngrams"]}
        with pytest.raises(ValueError, match="its part characters reads words"):
            HANClassifier().from_state(state)

    def test_a_file_without_its_counts_is_refused(self, fitted):
        state = fitted.to_state()
        part = state["parts"]["characters"]
        ratios = np.abs(part["learnt"]["ratios"][:, :1])
        learnt = {**part["learnt"], "counts": None, "ratios": ratios}
        state["parts"] = {**state["parts"], "characters": {**part, "learnt": learnt}}
        with pytest.raises(ValueError, match="lacks counts"):
            HANClassifier().from_state(state)

    def test_the_vocabulary_of_text_without_labels_is_in_the_table(self):
        texts, labels = inflected(200)
        more, _ = inflected(300, seed=3)
        model = HANClassifier(**TINY, linear_chars=(1, 3)).fit(texts, labels, X_unlabelled=more)
        assert (model.character_model_.table.lengths[2:] > 0).all()

    @pytest.mark.thorough
    def test_a_fit_goes_on_beside_an_earlier_latent_model(self, others):
        texts, labels = inflected(300)
        more, _ = inflected(600, seed=3)
        given = {**TINY, "random_state": 0, "warm_start": True}
        model = HANClassifier(**given, linear_chars=None).fit(texts, labels, X_unlabelled=more)
        model.set_params(linear_chars=(1, 5)).fit(texts, labels)
        assert model.character_scale_ > 0
        assert model.score(*others) > 0.8

    def test_a_file_whose_words_do_not_fit_is_refused(self, fitted):
        state = fitted.to_state()
        part = state["parts"]["characters"]
        table = part["learnt"]["table"]
        learnt = {**part["learnt"], "table": {**table, "lengths": table["lengths"] + 1}}
        state["parts"] = {**state["parts"], "characters": {**part, "learnt": learnt}}
        with pytest.raises(ValueError, match="lengths do not sum"):
            HANClassifier().from_state(state)


@pytest.fixture(scope="module")
def latent():
    """A model of sixty labels, and of six hundred texts without."""
    texts, labels = inflected(60)
    more, _ = inflected(600, seed=3)
    classifier = HANClassifier(**TINY, random_state=0, linear_chars=(1, 5), warm_start=True)
    return classifier.fit(texts, labels, X_unlabelled=more)


class TestLatentModel:
    def test_directions_of_characters_tell_what_few_labels_mean(self, latent, others):
        assert [*latent.pool_.linear.parts] == ["characters", "latent_characters"]
        assert latent.latent_character_scale_ > 0
        alone = latent.pool_.only(["latent_characters"])
        documents = latent.tokenizer_.transform(others[0])
        right = alone.logits(documents).argmax(axis=1) == others[1]
        assert right.mean() > 0.95
        assert latent.score(*others) > 0.95

    def test_bars_add_up_to_the_log_odds(self, latent, others):
        some = others[0][:5]
        sums = [e.base_value + e.sentence_contributions.sum() for e in latent.explain(some)]
        toward = np.where(latent.predict(some) == 1, 1, -1)
        np.testing.assert_allclose(sums, toward * latent.decision_function(some), atol=1e-5)

    def test_every_file_says_the_same(self, latent, others, tmp_path):
        expected = latent.predict_proba(others[0])
        sk_han.save(latent, tmp_path / "model.han")
        for one in (sk_han.load, Scorer.load):
            found = one(tmp_path / "model.han").predict_proba(others[0])
            np.testing.assert_allclose(found, expected, atol=1e-5)
        copied = pickle.loads(pickle.dumps(latent))
        np.testing.assert_array_equal(copied.predict_proba(others[0]), expected)

    def test_a_file_with_counts_in_it_is_refused(self, latent):
        state = latent.to_state()
        state["parts"] = {**state["parts"], "latent_characters": state["parts"]["characters"]}
        with pytest.raises(ValueError, match="its part latent_characters has counts"):
            HANClassifier().from_state(state)

    def test_it_stays_in_fits_that_go_on_and_learns_from_portions(self, latent, others):
        texts, labels = inflected(60, seed=5)
        model = pickle.loads(pickle.dumps(latent)).fit(texts, labels)
        first, kept = (each.latent_character_model_ for each in (latent, model))
        np.testing.assert_array_equal(first.weights, kept.weights)
        moved = model.partial_fit(texts, labels).latent_character_model_
        assert not np.array_equal(moved.weights, kept.weights)
        assert model.score(*others) > 0.9

    @pytest.mark.parametrize("words", [(1, 3), None])
    def test_a_first_portion_begins_it_and_later_ones_teach_it(self, others, words):
        texts, labels = inflected(200)
        given = {"linear_ngrams": words, "linear_chars": (1, 5)}
        classifier = HANClassifier(**TINY, random_state=0, **given)
        classifier.partial_fit(texts, labels, [0, 1], X_unlabelled=inflected(600, seed=3)[0])
        assert classifier.score(*others) > 0.95
        before = classifier.pool_.parts["latent_characters"].weights
        classifier.partial_fit(*inflected(100, seed=6))
        assert not np.array_equal(classifier.pool_.parts["latent_characters"].weights, before)


class TestDocumentsThatDoNotKnowTheirWords:
    """Word ids do not hold how words are written that the vocabulary lacks."""

    @pytest.fixture
    def given(self, fitted, others):
        return DocumentArray.from_nested(fitted.tokenizer_.transform(others[0]).to_nested())

    @pytest.mark.parametrize("method", ["predict", "predict_proba", "explain"])
    def test_they_are_refused(self, fitted, given, others, method):
        with pytest.raises(ValueError, match=r"do not hold how these are written.*raw texts"):
            getattr(fitted, method)(given)
        some = fitted.tokenizer_.transform(others[0][:5])
        with pytest.raises(ValueError, match=r"do not hold how these are written"):
            getattr(fitted, method)(DocumentArray.concatenate([some, given]))

    def test_a_scorer_refuses_them_too(self, fitted, given, tmp_path):
        sk_han.save(fitted, tmp_path / "model.han")
        with pytest.raises(ValueError, match="do not hold how these are written"):
            Scorer.load(tmp_path / "model.han").predict_proba(given)

    def test_those_of_known_words_are_scored(self, fitted, given):
        texts = inflected(20)[0]
        ids = DocumentArray.from_nested(fitted.tokenizer_.transform(texts).to_nested())
        np.testing.assert_allclose(fitted.predict_proba(ids), fitted.predict_proba(texts))

    def test_given_held_out_ones_leave_the_model_out_or_are_refused(self, fitted, given, others):
        X, y = fitted.tokenizer_.transform(inflected(400)[0]), inflected(400)[1]
        more = {"X_val": given, "y_val": others[1]}
        assert "characters" in HANClassifier(**TINY, random_state=0).fit(X, y).pool_.parts
        found = HANClassifier(**TINY, random_state=0).fit(X, y, **more)
        assert "characters" not in found.pool_.parts
        with pytest.raises(ValueError, match=r"X_val holds word ids without their words"):
            HANClassifier(**TINY, linear_chars=(2, 3)).fit(X, y, **more)

    def test_later_portions_of_them_are_refused(self, given, others):
        model = HANClassifier(**TINY, random_state=0, linear_chars=(2, 3))
        model.partial_fit(*inflected(60), classes=[0, 1])
        with pytest.raises(ValueError, match="do not hold how these are written"):
            model.partial_fit(DocumentArray.from_nested([[[1, 2]]] * 100), others[1])


def test_texts_without_labels_say_the_same_from_a_tokenizer_and_as_texts():
    texts, labels = inflected(200)
    more = inflected(600, seed=2)[0]
    how = {**TINY, "random_state": 0, "linear_chars": (1, 4)}
    of_texts = HANClassifier(**how, tokenizer=HierarchicalTokenizer(min_df=2))
    of_texts.fit(texts, labels, X_unlabelled=more)
    tokenizer = of_texts.tokenizer_
    of_documents = HANClassifier(**how).fit(
        tokenizer.transform(texts), labels, X_unlabelled=tokenizer.transform(more)
    )
    assert "latent_characters" in of_texts.pool_.parts
    np.testing.assert_allclose(
        of_documents.predict_proba(tokenizer.transform(texts)),
        of_texts.predict_proba(texts),
        atol=1e-6,
    )
