"""AttentionTranslator: what it learns, returns and refuses."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import sk_han
from sk_han import AttentionTranslator, HierarchicalTokenizer, ModelFormatError
from tests.tiny_pairs import pairs, tiny

SOURCES, TARGETS = pairs()


def test_it_translates_what_it_has_learnt(translator):
    assert translator.predict(SOURCES) == TARGETS


def test_a_text_without_words_has_an_empty_translation(translator):
    assert translator.predict(["", SOURCES[4], "  \n"]) == ["", TARGETS[4], ""]


@pytest.mark.thorough
def test_a_translation_does_not_depend_on_its_neighbours(translator):
    texts = [*SOURCES, "", "Hund Hund Hund unbekannt Mann"]
    together = translator.predict(texts)
    assert [translator.predict([text])[0] for text in texts[::5]] == together[::5]


def test_attention_is_data_of_the_same_translation(translator):
    text = "Ein kleiner Hund rennt."
    alignment = translator.attention([text])[0]
    assert alignment.target_text == translator.predict([text])[0] == "A small dog runs."
    assert alignment.source_words == ("Ein", "kleiner", "Hund", "rennt", ".")
    assert alignment.target_words == ("A", "small", "dog", "runs", ".")
    assert alignment.weights.shape == (5, 5)
    assert (alignment.weights.sum(axis=1) <= 1 + 1e-6).all()


def test_an_unknown_word_becomes_the_attended_source_word(translator):
    copy = pickle.loads(pickle.dumps(translator))
    dog = copy.target_tokenizer_.vocabulary_["dog"]
    copy.forms_[dog] = ""  # as if it were unknown
    alignment = copy.attention(["Ein Hund rennt."])[0]
    source = alignment.source_words[alignment.weights[1].argmax()]
    assert alignment.target_words == ("A", source, "runs", ".")


def test_a_long_text_is_read_up_to_the_limit(translator):
    short = clone(translator).set_params(max_words=6)
    short.__dict__ |= {k: v for k, v in vars(translator).items() if k.endswith("_")}
    alignment = short.attention(["Hund " * 10_000])[0]
    assert len(alignment.source_words) == 6
    assert len(alignment.target_words) <= 6


def test_a_translation_has_at_most_twice_the_words_and_ten(translator):
    copy = pickle.loads(pickle.dumps(translator))
    with torch.no_grad():
        copy.net_.module_.output_bias[0] = -1e6  # the end mark
    assert len(copy.attention(["Hund rennt."])[0].target_words) == 2 * 3 + 10


def test_vocabularies_know_the_training_pairs_alone():
    fitted = tiny().fit(SOURCES, TARGETS, X_val=["Ein Vogel rennt."], y_val=["A bird runs."])
    assert "vogel" not in fitted.source_tokenizer_.vocabulary_
    assert "bird" not in fitted.target_tokenizer_.vocabulary_
    held_out = tiny(validation_fraction=0.1).fit(
        [*SOURCES, *(f"Wort{i} rennt." for i in range(27))],
        [*TARGETS, *(f"Word{i} runs." for i in range(27))],
    )
    known = held_out.source_tokenizer_.vocabulary_.keys()
    assert sum(f"wort{i}" not in known for i in range(27)) > 0


def test_a_pair_of_weight_zero_is_left_out():
    weights = np.ones(len(SOURCES))
    weights[0] = 0
    one = tiny().fit(SOURCES, TARGETS, sample_weight=weights)
    other = tiny().fit(SOURCES[1:], TARGETS[1:])
    for name, weight in one.net_.weights.items():
        assert np.array_equal(weight, other.net_.weights[name]), name


def test_users_tokenizers_are_cloned_and_fitted():
    given = HierarchicalTokenizer(lowercase=False, output="padded")
    fitted = tiny(source_tokenizer=given, target_tokenizer=given).fit(SOURCES, TARGETS)
    assert "Hund" in fitted.source_tokenizer_.vocabulary_
    assert not hasattr(given, "vocabulary_")


def test_a_search_finds_parameters_of_prediction_and_training():
    def share_of_right(estimator, X, y):
        found = estimator.predict(X)
        return float(np.mean([one == other for one, other in zip(found, y, strict=True)]))

    grid = {"beam_size": [1], "source_tokenizer__lowercase": [True, False]}
    search = GridSearchCV(
        tiny(source_tokenizer=HierarchicalTokenizer()), grid, scoring=share_of_right, cv=2
    )
    search.fit(SOURCES, TARGETS)
    assert set(search.best_params_) == set(grid)
    assert len(search.predict(SOURCES[:2])) == 2


def test_score_is_bleu_of_sacrebleu(translator):
    sacrebleu = pytest.importorskip("sacrebleu")
    assert translator.score(SOURCES, TARGETS) == pytest.approx(100)
    metric = sacrebleu.metrics.BLEU()
    metric.corpus_score(["a"], [["a"]])
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in str(metric.get_signature())
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in AttentionTranslator.score.__doc__


def test_score_without_sacrebleu_names_the_extra(translator, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "sk-han\[translate\]"'):
        translator.score(SOURCES, TARGETS)


BAD_PAIRS = {
    "source_texts has 26 texts and target_texts has 27": (SOURCES[:-1], TARGETS),
    "source_texts of pair 2 is missing": ([*SOURCES[:2], None, *SOURCES[3:]], TARGETS),
    "target_texts of pair 3 is an int": (SOURCES, [*TARGETS[:3], 7, *TARGETS[4:]]),
    "Found 0 pair": ([], []),
    "string object received": ("Ein Hund.", "A dog."),
    "target_texts: .*string object received": (SOURCES, "A dog."),
    "requires y to be passed, but the target y is None": (SOURCES, None),
    "source_texts: empty vocabulary": (["", " "], ["a", "b"]),
    "target_texts: empty vocabulary": (["a", "b"], ["", " "]),
    "nothing to learn from": (["", "x"], ["a", ""]),
}


@pytest.mark.parametrize("message", BAD_PAIRS)
def test_bad_pairs_are_refused_by_number(message):
    with pytest.raises((TypeError, ValueError), match=message):
        tiny().fit(*BAD_PAIRS[message])


@pytest.mark.parametrize(
    ("X_val", "y_val", "message"),
    [
        (SOURCES, None, "X_val and y_val go together"),
        (SOURCES[:2], ["a", 0.5], "y_val of pair 1 is a float"),
        (set(SOURCES), TARGETS, "X_val: Documents need an order; got a set"),
        (["", "Hund"], ["", " "], "None of the pairs of X_val and y_val has 1 to"),
    ],
)
def test_held_out_pairs_are_checked(X_val, y_val, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tiny().fit(SOURCES, TARGETS, X_val=X_val, y_val=y_val)


@pytest.mark.parametrize(
    ("name", "value"),
    [("beam_size", 0), ("length_penalty", -1.0), ("max_words", 0), ("n_threads", 0)],
)
def test_parameters_set_after_the_fit_are_checked(translator, name, value):
    fitted = pickle.loads(pickle.dumps(translator)).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        fitted.predict(SOURCES[:1])


def test_pairs_beyond_the_limit_are_left_out_with_a_warning():
    with pytest.warns(
        UserWarning, match="1 of 28 pairs has more than max_words=9 words and is left"
    ):
        tiny(max_words=9).fit([*SOURCES, "Hund " * 10], [*TARGETS, "dog"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forms": ["a"]}, "forms must be a list of 12; it has 1"),
        ({"forms": None}, "forms must be a list"),
        ({"glued": np.zeros(3)}, "glued has the shape"),
        ({"capitals": 1}, "capitals must be one of"),
        ({"source_tokenizer": None}, "source_tokenizer is not a fitted"),
        ({"best_epoch": 1000}, "best_epoch must be one of 25"),
        ({"extra": 1}, "fitted state has"),
    ],
)
def test_a_state_with_wrong_entries_is_refused(translator, change, message):
    with pytest.raises(ModelFormatError, match=message):
        AttentionTranslator().from_state(translator.to_state() | change)


# Batches of pairs: targets with end marks, and orders by length.


# Files of a translator.


def test_a_loaded_translator_predicts_the_same(tmp_path):
    fitted = tiny(source_tokenizer=HierarchicalTokenizer(min_df=2))
    fitted.fit(SOURCES, TARGETS)
    sk_han.save(fitted, tmp_path / "t.han")
    loaded = sk_han.load(tmp_path / "t.han")
    assert loaded.predict(SOURCES) == fitted.predict(SOURCES)
    weights, expected = (each.attention(SOURCES[:1])[0].weights for each in (loaded, fitted))
    assert (weights == expected).all()
    assert loaded.source_tokenizer.min_df == 2
    assert loaded.fit_summary_ == fitted.fit_summary_ is not None
    loaded.set_params(max_epochs=1).fit(SOURCES, TARGETS)
