import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer
from tests.growth import LIMIT, growth
from tests.thorough import first_fast

# Of words that may be any signs, so that no sentence is dropped.
TOKENIZER = HierarchicalTokenizer(token_pattern=r"\S+", vocabulary=["a"]).fit(["a"])


def sentence_spans(text):
    return TOKENIZER.spans([text])[0].sentence_spans.tolist()


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


# Sentences written apart; joined by a space they have to come apart again.
APART = {
    "full stop": ["The plot is thin.", "The actors are not."],
    "question and exclamation": ["Who wrote this?", "Nobody knows!", "Pity."],
    "several marks": ["You did what?!", "Stop!!!", "Now."],
    "one mark of another kind": ["Really‽", "Yes⁉", "Fine."],
    "title": ["Dr. Lund met Mrs. Okoye and Prof. Silva.", "They agreed."],
    "title in lower case": ["we saw mr. lund.", "he waved."],
    "initials": ["J. K. Mbeki wrote it with R.L. Stone.", "It sold well."],
    "acronym inside": ["She left the U.S. Senate in May.", "He stayed."],
    "acronym at the end": ["They moved to the U.S.", "The house was small."],
    "abbreviation before lower case": ["Bring bread, salt, etc. and water.", "Come early."],
    "abbreviation at the end": ["Bring bread, salt, etc.", "Come early."],
    "latin": ["Use a tool, e.g. a saw, i.e. something sharp, cf. above.", "Be careful."],
    "time of day": ["It starts at 8 p.m. on Friday.", "We left at 3 a.m.", "The bus was late."],
    "letter at the end": ["They chose plan b.", "then plan c.", "Then it was I.", "We ran."],
    "letter inside": ["See p. 5 for more, e. g. for J. of the N. family.", "Good."],
    "decimal": ["It costs $3.50 or 2.5 percent.", "Cheap."],
    "version": ["Install version 2.0.1 first.", "Then restart."],
    "number at the end": ["We met in 1999.", "The year was hot."],
    "score": ["I give it 8/10.", "Watch it."],
    "number sign": ["See no. 7 and fig. 12 on p. 3.", "Clear?", "She said no.", "He agreed."],
    "list number": ["1. Stir the rice.", "Then eat."],
    "items in a line": ["1. First", "2. Second", "3. Third and last"],
    "items in a line with marks": ["9. Stir the rice.", "10. Eat,", "11. sleep!"],
    "no items": ["1. We met in 7.", "It rained."],
    "number sign of French and Spanish": ["Vea N°. 1026.253 y nº. 7.", "Fin."],
    "title after a time of day": ["It was 6 P.M. in May.", "He left at 6 P.M.", "Mr. Lund stayed."],
    "question after a letter": ["It was Ann and I.", "Did you see us?", "It was I.", "Is that so?"],
    "name with an exclamation mark": ["He left Yahoo! in May.", "Then came Oliver! and Jaws."],
    "cry in lower case": ["Wow!", "in the end he won!", "what a film!"],
    "statute": ["Gem. § 5 Abs. 1 lit. a gilt es, vgl. Art. § 7.", "Es ist gem. § 9 so."],
    "according to": [
        "Die Zahlung ist gem. Art. 5 fällig.",
        "Gem. der Satzung gilt es, gem. Vereinbarung auch.",
        "Er ist insg. Leiter der Abt. Einkauf.",
        "What a gem.",
        "The best.",
        "A gem.",
        "Young and old.",
        "A gem.",
        "Samsung too.",
    ],
    "court": ["The 9th Cir. 2010 ruling stood.", "The Cir. held so.", "We agreed."],
    "temperature": ["Keep at Temp. 20 or below.", "It is warm."],
    "words like abbreviations": ["This film is a gem.", "10 points.", "It was lit.", "A joy."],
    "date": ["It opened on Jan. 5 and closed on Dec. 31.", "Nobody came."],
    "address of a page": ["Go to http://www.example.org/a.b?c=d.e for more.", "It is free."],
    "page at the end": ["Go to www.example.org.", "It is free."],
    "e-mail": ["Write to ann.lee@example.co.uk today.", "She answers."],
    "file": ["Open the file main.py or data.csv.", "Run it."],
    "closing quote": ['He said "No."', "She left."],
    "closing quotes of print": ["He said “No.”", "She left."],
    "bracket": ["It rained (and how!).", "We ran.", "(We always do.)", "Home."],
    "quote goes on": ['"Why now?" he asked.', '"Never!" she said.'],
    "bracket goes on": ["The best (really!) of all.", "The end."],
    "ellipsis goes on": ["Well... maybe not.", "No."],
    "ellipsis before a bracket": ["It was long... (too long) and loud.", "No."],
    "ellipsis ends": ["I waited...", "Nobody came…", "The end."],
    "spaced ellipsis": ["It was . . . odd.", "Very."],
    "markdown": ["**A great film.**", "_See it._", "Twice."],
    "punctuation set apart": ["mr . lund arrives . . . late .", "the end ."],
    "german": ["Das ist z.B. gut, d.h. nicht schlecht.", "Am 3. Oktober kam er.", "Ja."],
    "german short months": [
        "Seit dem 3. Okt. 2021 zu.",
        "Bis 24. Dez. offen.",
        "Am 2. Apr. 2020.",
    ],
    "german quotes": ["„Nein.“", "»Doch!«", "Er ging."],
    "french": ["« Tu viens ? »", "Il rit.", "M. Petit arrive !", "Bien."],
    "spanish": ["¿Quién es?", "¡La Sra. Gil!", "Vale."],
    "swedish words that look like titles": ["Han kom sen.", "Det var hon.", "Ja."],
    "russian": ["Это ул. Мира, т.е. центр.", "А. С. Пушкин жил тут.", "Да!"],
    "hindi": ["यह अच्छी फिल्म है।", "क्या तुम आए?", "डॉ. राव आए।"],
    "arabic": ["هذا فيلم جيد.", "هل رأيته؟", "نعم!"],
    "urdu": ["یہ اچھی فلم ہے۔", "ہاں۔"],
    "armenian": ["Սա լավ ֆիլմ է։", "Այո։"],
    "amharic": ["ጥሩ ፊልም ነው።", "አዎ፧"],
    "burmese": ["ကောင်းတယ်။", "ဟုတ်တယ်။"],
    "khmer": ["ល្អណាស់។", "មែនហើយ។"],
    "tibetan": ["འདི་ཡག་པོ་འདུག།", "ལགས་སོ།"],
    "chinese": ["这部电影很好。", "你看了吗？"],
    "thai, whose sentences are not marked": ["หนังดี สนุกมาก"],
}


@pytest.mark.parametrize("expected", APART.values(), ids=APART.keys())
def test_sentences_are_split_as_a_reader_would(expected):
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["这部电影很好。", "你看了吗？", "“看了！”", "好……走吧。"],
        ["いい映画だ。", "「本当？」", "『ええ。』"],
        ["「はい。」と言った。", "次。"],
        ["你好!", "我是李.", "再见?", "好"],
        ["五.一放假.", "我走了。"],
        ["यह है।", "वह है॥"],
        ["یہ ہے۔", "کیوں؟", "ہاں"],
    ],
)
def test_scripts_with_marks_of_their_own_need_no_space(expected):
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [["So it goes.", "The next."], ["Why me?", "Who knows!", "Not I."], ["It's fine.", "He said."]],
)
def test_a_forgotten_space_is_forgiven(expected):
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["ann@east.Example.Com", "http://example.org/some.Page", "so.Example.Net", "java.lang.String",
     "e.g.So", "v2.Beta", "U.S.Navy", "script.py", "c:\\autoexec.Bat", "and...The"],
)  # fmt: skip
def test_addresses_and_names_with_points_stay_whole(text):
    assert sentences(f"see {text} here") == [f"see {text} here"]


@pytest.mark.parametrize(
    "between",
    ["\n\n", "\n \t\n", "\r\n\r\n", "\r\r", "\f", "\u2029", "<br />", "<br>", "<BR/>", "</p>",
     "</p>\n<p class='x'>", "<br /><br />", " <br/> ", "</li><li>", "</div>", "<h2>", "<hr>",
     "</td><td>", "\n- ", "\n* ", "\n  • ", "\n1. ", "\n(2) ", "\nb) ", "\n-----\n"],
)  # fmt: skip
def test_breaks_of_layout_end_a_sentence_without_a_mark(between):
    found = sentences(f"a first line{between}and a second")
    assert found[0] == "a first line"
    assert found[-1].endswith("and a second")


@pytest.mark.parametrize("tag", ["<br />", "<br>", "</p>", "<p class=a>", "</li>", "<div\nid=b>"])
def test_tags_that_break_lines_are_in_no_sentence(tag):
    text = f"Good.{tag}Mr.{tag}one {tag} two{tag}"
    assert sentences(text) == ["Good.", "Mr.", "one", "two"]


@pytest.mark.parametrize("text", ["1 < 2 but 3 > 2", "<3 it", "a <brave> try", "<p", "x <br y"])
def test_other_angle_brackets_are_text(text):
    assert sentences(text) == [text]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\x85", "\u2028"])
def test_a_wrapped_line_continues_the_sentence(end):
    text = f"one line{end}and its end.{end}Next"
    assert sentences(text) == [f"one line{end}and its end.", "Next"]


def test_a_blank_line_ends_a_sentence_even_after_an_abbreviation():
    assert sentences("Signed, Mr.\n\nLund") == ["Signed, Mr.", "Lund"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "<br />", " \u3000\t", "\n<br><br>\n"])
def test_blank_text_has_no_sentences(text):
    assert sentence_spans(text) == []


def test_sentences_without_words_are_kept():
    assert sentences("*** Yes.") == ["*** Yes."]
    assert sentences("!!!") == ["!!!"]


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200)
# Text made of what matters: marks, breaks, tags, abbreviations, scripts.
PIECES = st.lists(
    st.sampled_from(
        [".", "!", "?", "…", "。", "।", "؟", " ", "  ", "\n", "\r\n", "\u2029", "<br />", "<", ">"]
        + ["</p>", '"', "'", ")", "»", "「", "」", "Mr", "etc", "U.S", "1", "a", "A", "The", "word"]
        + ["好", "の", "ก", "é", "e\u0301", "ß", "हि", "ש\u05b0", "👨\u200d👩\u200d👧", "-"]
        + ["\ud800", "\0", " 2. ", "Yahoo! in ", "五.一"]
    ),
    max_size=40,
).map("".join)


@pytest.mark.thorough
@given(st.one_of(ANY_TEXT, PIECES))
@example("\u2029a")
def test_only_space_and_tags_lie_between_sentences(text):
    rest, last = [], 0
    for start, end in sentence_spans(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        rest.append(text[last:start])
        last = end
    assert re.sub(r"<[^<>]*>", "", "".join([*rest, text[last:]])).strip() == ""


@given(st.one_of(st.text(st.characters(codec="ascii"), max_size=200), PIECES))
def test_ascii_text_is_split_by_the_same_rules(text):
    text = text.encode("ascii", "ignore").decode()
    # A letter at the end that changes nothing but the patterns that are used.
    assert sentences(text + " x") == [
        sentence.replace("é", "x") for sentence in sentences(text + " é")
    ]


HOSTILE = [
    "\u0301\u0316", "a", "\n", "<", "http://", "e\u0301", "\ud800", "Mr. a.b <br/>\n- 1) '",
    "!", "'", '"', ")", "a'", "a@", "<br ", "<br", "<p x=", "</p>", "Mr. ", "1. ", "U.S. ", "a.b.",
    "ab.Cd", ". ", "... ", '."', '.")', "\r\n", "\n- ", "好", "。", "की", "\u1039က", "’a", " »",
    "! »", "👍🏽", "\u200d", "word ", "1. a 2. ", "Yahoo! in ", "五.",
    "$1", "#a", "a*", ":)", ":-", "😀", "@",
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("piece", first_fast(HOSTILE))
def test_time_is_nearly_linear_in_the_text(piece):
    options = [
        *({"tokens": tokens} for tokens in ("words", "words+marks", "web")),
        {"lowercase": False},
        *({"strip_accents": name} for name in ("unicode", "ascii")),
        {"stop_words": ["a"], "max_words": 3},
        {"token_pattern": r"\S+"},
        {"word_tokenizer": str.split},
    ]
    tokenizers = [
        HierarchicalTokenizer(vocabulary=["a"], **params).fit(["a"]) for params in options
    ]

    def read(n_characters):
        text = "a" + piece * (n_characters // len(piece))
        for tokenizer in tokenizers:
            tokenizer.transform([text])

    assert growth(read, 10_000) <= LIMIT
