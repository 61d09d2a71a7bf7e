import dataclasses
import warnings

import numpy as np
import pytest

from tests.by_hand import explained, summarized

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from fontTools.fontBuilder import FontBuilder  # noqa: E402
from fontTools.pens.ttGlyphPen import TTGlyphPen  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.font_manager import fontManager  # noqa: E402

from sk_han.inspection import FaithfulnessReport  # noqa: E402
from sk_han.inspection.results.collection import ExplanationList  # noqa: E402
from sk_han.rendering import fonts, plot_history  # noqa: E402
from sk_han.rendering.fonts import drawable, families_for  # noqa: E402
from sk_han.translation.alignment import Alignment  # noqa: E402

CUNEIFORM, LINEAR_B, EGYPTIAN = "\U00012000\U00012001", "\U00010000", "\U00013000"


@pytest.fixture(autouse=True)
def _only_the_fonts_of_matplotlib():
    installed = list(fontManager.ttflist)
    fontManager.ttflist[:] = [entry for entry in installed if entry.name.startswith("DejaVu")]
    yield
    fontManager.ttflist[:] = installed
    plt.close("all")


@pytest.fixture
def install(tmp_path):
    """Make a font that has these characters, as squares, and install it for matplotlib."""

    def make(name, characters):
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for corner in ((0, 700), (700, 700), (700, 0)):
            pen.lineTo(corner)
        pen.closePath()
        glyphs = {f"g{i}": pen.glyph() for i in range(len(characters))}
        builder = FontBuilder(1000, isTTF=True)
        builder.setupGlyphOrder([".notdef", *glyphs])
        builder.setupCharacterMap({ord(c): f"g{i}" for i, c in enumerate(characters)})
        builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), **glyphs})
        builder.setupHorizontalMetrics(dict.fromkeys([".notdef", *glyphs], (800, 0)))
        builder.setupHorizontalHeader(ascent=800, descent=-200)
        builder.setupNameTable({"familyName": name, "styleName": "Regular"})
        builder.setupOS2(usWeightClass=400)
        builder.setupPost()
        path = tmp_path / f"{name}.ttf"
        builder.save(path)
        fontManager.addfont(path)

    return make


def test_usual_fonts_are_kept_where_they_have_all_characters():
    assert families_for(["plain", "na\u00efve \u05d0\u05d7\u05ea \u200d\ufe0f\n"]) is None


def test_a_font_is_added_that_has_what_the_usual_ones_lack(install):
    install("Test Cuneiform", CUNEIFORM)
    usual = plt.rcParams["font.family"]
    assert families_for(["plain", CUNEIFORM]) == [*usual, "Test Cuneiform"]


def test_fonts_of_placeholders_are_no_help(install):
    install("Last Resort", EGYPTIAN)
    with pytest.warns(UserWarning, match="Noto Sans Egyptian"):
        assert families_for([EGYPTIAN]) is None


def test_as_few_fonts_as_possible_are_added(install):
    install("Test A", CUNEIFORM[:1])
    install("Test B", CUNEIFORM)
    install("Test C", LINEAR_B)
    families = families_for([CUNEIFORM + LINEAR_B])
    assert families[-2:] == ["Test B", "Test C"]
    assert "Test A" not in families


def test_a_font_for_running_text_is_preferred(install, monkeypatch):
    monkeypatch.setattr(fonts, "PREFERRED", ("Test Z",))
    for name in ("Test Y", "Test Z"):
        install(name, EGYPTIAN)
    assert families_for([EGYPTIAN])[-1] == "Test Z"


def test_where_no_font_has_a_character_one_to_install_is_named():
    with pytest.warns(UserWarning, match="No installed font has '\U00010000'.*Noto Sans Linear"):
        families_for([LINEAR_B])
    with pytest.warns(UserWarning, match=r"boxes in their place. Install Noto Emoji or Symbola"):
        families_for(["\U0001fae8"])


def test_chinese_japanese_and_korean_need_the_same_font():
    with pytest.warns(UserWarning, match=r"Install [^,]*fonts-noto-cjk\) and start Python again"):
        families_for(["\u6f14\u3042\uac00\u4e00"])


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        # Letters, vowel signs, digits and the full stop of one script.
        ("\u092b\u093f\u0932\u094d\u092e \u0969 \u0964", "Install Noto Sans Devanagari [^,]*core"),
        # Quoted, with the mark of a long vowel, and in half width.
        ("\u300c\u30b3\u30fc\u30d2\uff76\u300d", "Install Noto Sans CJK [^,]*cjk"),
        ("\u4f60\U0001fae8", "Install Noto Emoji or Symbola [^,]* and Noto Sans CJK [^,]*cjk"),
    ],
    ids=["Hindi", "Japanese", "emoji"],
)
def test_signs_of_a_script_need_the_font_of_its_letters_alone(text, advised):
    with pytest.warns(UserWarning, match=advised + r"\) and start Python again"):
        families_for([text])


def test_a_figure_of_an_explanation_has_no_boxes(install, tmp_path):
    install("Test Cuneiform", CUNEIFORM)
    ax = explained(f"Some {CUNEIFORM} words.", classes=["neg", "pos"]).plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of each glyph that is missing
        ax.figure.savefig(tmp_path / "figure.png")
    (word,) = [text for text in ax.texts if text.get_text() == CUNEIFORM]
    assert word.get_fontfamily()[-1] == "Test Cuneiform"


def test_words_of_an_alignment_have_fonts_too(install, tmp_path):
    install("Test Cuneiform", CUNEIFORM)
    alignment = Alignment(CUNEIFORM, "word", [CUNEIFORM], ["word"], [[1.0]])
    alignment.plot().figure.savefig(tmp_path / "alignment.png")


CHINESE = "\u8fd9\u5bb6\u9910\u5385\u5f88\u597d"
# Which only the upright face has, which none has, control, blank, private, surrogate, formula.
ODD = "\U0001d5a0 \u0378 \x07 \u2028 \ue000 \ud800 \U0001f468\u200d\U0001f469 $x_{$ "


def with_terms(text):
    found = summarized().classes[1]
    terms = tuple(dataclasses.replace(term, text=text) for term in found.terms)
    return summarized(classes=(found, dataclasses.replace(found, label=text, terms=terms)))


def faithfulness_of(method):
    def of(value):
        return {metric: {method: value} for metric in ("comprehensiveness", "sufficiency")}

    return FaithfulnessReport(
        values=of(np.full(2, 0.5)),
        means=of(0.5),
        intervals=of((0.25, 0.75)),
        differences=of((0.1, 0.2)),
        seconds={method: 0.1},
        fractions=(0.1,),
        n_without_words=0,
        n_without_rationale=None,
    )


FIGURES = {
    "explanation": lambda text: explained(text, classes=["pos", text], predicted=text).plot(),
    "list": lambda text: ExplanationList([explained(text)] * 2).plot(),
    "summary": lambda text: with_terms(text).plot()[0],
    "alignment": lambda text: Alignment(text, text, [text], [text], [[1.0]]).plot(),
    "faithfulness": lambda text: faithfulness_of(text).plot(),
    "history": lambda text: plot_history([{"train_loss": 1.0, f"valid_{text}": 0.5}]),
}


@pytest.mark.parametrize("text", [CHINESE, ODD], ids=["Chinese", "odd"])
@pytest.mark.parametrize("plot", FIGURES.values(), ids=FIGURES)
def test_of_all_missing_characters_a_figure_warns_once_and_matplotlib_never(plot, text, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plot(text).figure.savefig(tmp_path / "figure.png")
    (warning,) = told
    assert "the figure shows boxes in their place" in str(warning.message)


def test_boxes_stand_for_what_is_missing_alone():
    assert drawable(f"a {CHINESE[:2]} na\u00efve\x07\n") == "a \u25a1\u25a1 na\u00efve\n"


def test_what_chooses_the_look_of_an_emoji_is_not_drawn_by_itself():
    assert drawable("\u2764") + drawable("\ufe0f!") == "\u2764!"


def test_where_the_font_has_no_box_a_question_mark_stands(install, monkeypatch):
    install("Test Plain", "?ab ")
    assert drawable(f"a {CHINESE[0]}", ["Test Plain"]) == "a ?"
