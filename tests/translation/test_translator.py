"""AttentionTranslator: what it learns, returns and refuses."""

import pickle

import numpy as np
import pytest
import torch

import sk_han
from sk_han import AttentionTranslator, HierarchicalTokenizer, ModelFormatError
from tests.tiny_pairs import pairs, tiny

SOURCES, TARGETS = pairs()


def test_the_translator_learns_its_training_pairs(translator):
    assert translator.predict(["", *SOURCES, "  \n"]) == ["", *TARGETS, ""]
    texts = [*SOURCES, "", "Hund Hund Hund unbekannt Mann"]
    together = translator.predict(texts)
    assert [translator.predict([text])[0] for text in texts[::5]] == together[::5]


def test_attention_belongs_to_the_predicted_translation(translator):
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


def test_score_matches_bleu_of_sacrebleu(translator):
    sacrebleu = pytest.importorskip("sacrebleu")
    assert translator.score(SOURCES, TARGETS) == pytest.approx(100)
    metric = sacrebleu.metrics.BLEU()
    metric.corpus_score(["a"], [["a"]])
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in str(metric.get_signature())
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in AttentionTranslator.score.__doc__


NO_WORDS = "None of the pairs of X_val and y_val has 1 to"
BAD_PAIRS = [
    (SOURCES[:-1], TARGETS, {}, "source_texts has 26 texts and target_texts has 27"),
    ([*SOURCES[:2], None, *SOURCES[3:]], TARGETS, {}, "source_texts of pair 2 is missing"),
    (SOURCES, [*TARGETS[:3], 7, *TARGETS[4:]], {}, "target_texts of pair 3 is an int"),
    ([], [], {}, "Found 0 pair"),
    (SOURCES, "A dog.", {}, "target_texts: .*string object received"),
    (SOURCES, None, {}, "requires y to be passed, but the target y is None"),
    (["", " "], ["a", "b"], {}, "source_texts: empty vocabulary"),
    (["a", "b"], ["", " "], {}, "target_texts: empty vocabulary"),
    (["", "x"], ["a", ""], {}, "nothing to learn from"),
    (SOURCES, TARGETS, {"X_val": SOURCES}, "X_val and y_val go together"),
    (SOURCES, TARGETS, {"X_val": SOURCES[:2], "y_val": ["a", 0.5]}, "y_val of pair 1 is a float"),
    (SOURCES, TARGETS, {"X_val": ["", "Hund"], "y_val": ["", " "]}, NO_WORDS),
]


@pytest.mark.parametrize(("sources", "targets", "held_out", "message"), BAD_PAIRS)
def test_bad_pairs_are_refused_by_number(sources, targets, held_out, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tiny().fit(sources, targets, **held_out)


def test_a_pair_of_weight_zero_is_left_out():
    one = tiny().fit(SOURCES, TARGETS, sample_weight=np.arange(len(SOURCES)) > 0)
    other = tiny().fit(SOURCES[1:], TARGETS[1:])
    for name, weight in one.net_.weights.items():
        assert np.array_equal(weight, other.net_.weights[name]), name


def test_no_more_than_the_limit_is_read():
    with pytest.warns(UserWarning, match="1 of 28 pairs has more than max_words=9 words and is"):
        fitted = tiny(max_words=9).fit([*SOURCES, "Hund " * 10], [*TARGETS, "dog"])
    alignment = fitted.attention(["Hund " * 10_000])[0]
    assert len(alignment.source_words) == 9 >= len(alignment.target_words)


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


# Files of a translator.


def test_a_loaded_translator_predicts_the_same(tmp_path):
    tokenizer = HierarchicalTokenizer(min_df=2, lowercase=False, output="padded")
    fitted = tiny(source_tokenizer=tokenizer).fit(SOURCES, TARGETS)
    assert "Hund" in fitted.source_tokenizer_.vocabulary_
    assert not hasattr(tokenizer, "vocabulary_")
    sk_han.save(fitted, tmp_path / "t.han")
    loaded = sk_han.load(tmp_path / "t.han")
    assert loaded.predict(SOURCES) == fitted.predict(SOURCES)
    weights, expected = (each.attention(SOURCES[:1])[0].weights for each in (loaded, fitted))
    assert (weights == expected).all()
    assert loaded.source_tokenizer.min_df == 2
    assert loaded.fit_summary_ == fitted.fit_summary_ is not None
    loaded.set_params(max_epochs=1).fit(SOURCES, TARGETS)
