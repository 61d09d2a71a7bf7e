"""Files of a translator."""

from __future__ import annotations

from pathlib import Path

import pytest

import sk_han
from sk_han import HierarchicalTokenizer, ModelFormatError
from tests.tiny_pairs import pairs, tiny

SOURCES, TARGETS = pairs()


def test_a_loaded_translator_predicts_the_same(tmp_path: Path) -> None:
    fitted = tiny(source_tokenizer=HierarchicalTokenizer(min_df=2), max_epochs=5)
    fitted.fit(SOURCES, TARGETS)
    sk_han.save(fitted, tmp_path / "t.han")
    loaded = sk_han.load(tmp_path / "t.han")
    assert loaded.predict(SOURCES) == fitted.predict(SOURCES)
    assert (
        loaded.attention(SOURCES[:1])[0].weights == fitted.attention(SOURCES[:1])[0].weights
    ).all()
    assert loaded.source_tokenizer.min_df == 2
    assert loaded.fit_summary_ == fitted.fit_summary_ is not None
    assert loaded.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    loaded.set_params(max_epochs=1).fit(SOURCES, TARGETS)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.han"
    sk_han.save(tiny(max_epochs=1).fit(SOURCES, TARGETS), path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match="damaged"):
        sk_han.load(path)
