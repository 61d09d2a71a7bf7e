"""Files of a translator."""

import sk_han
from sk_han import HierarchicalTokenizer
from tests.tiny_pairs import pairs, tiny

SOURCES, TARGETS = pairs()


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
