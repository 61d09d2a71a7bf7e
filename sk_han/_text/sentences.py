"""Sentence boundaries: rules on terminators, abbreviations and the text that follows."""

from __future__ import annotations

import re


def _character_class(ranges: str) -> str:
    """Convert code points and ranges to the inside of a character class of a pattern."""
    return "".join(
        "-".join(_escape(int(bound, 16)) for bound in span.split("-")) for span in ranges.split()
    )


def _characters(ranges: str) -> str:
    """Return the characters of code points and their ranges."""
    bounds = [[int(bound, 16) for bound in span.split("-")] for span in ranges.split()]
    return "".join(chr(code) for span in bounds for code in range(span[0], span[-1] + 1))


def _escape(code: int) -> str:
    if code < 0x80:
        return chr(code)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Letters, marks and digits of scripts that put spaces between words. Variation selectors and
# enclosing marks are left out: they follow emoji, which are not words.
WORD_CHARACTERS = _character_class("""
    30-39 41-5A 61-7A AA B2-B3 B5 B9-BA BC-BE C0-D6 D8-F6 F8-2C1 2C6-2D1 2E0-2E4 2EC 2EE
    300-37D 37F 386 388-481 483-487 48A-559 560-588 591-5BD 5BF 5C1-5C2 5C4-5C5 5C7-5F2 610-61A
    620-669 66E-6D3 6D5-6DC 6DF-6FF 710-7F5 7FA-82D 840-85B 860-88F 897-8E1 8E3-963 966-96F
    971-9FC 9FE-A75 A81-AEF AF9-BF2 C00-C6F C78-C83 C85-D4E D54-DF3 F00 F18-F19 F20-F39
    F3E-F84 F86-FBC FC6 10A0-10FA 10FC-135F 1369-138F 13A0-13FD 1401-166C 166F-167F 1681-169A
    16A0-16EA 16EE-1734 1740-1773 180B-180D 180F-193B 1946-194F 1A00-1A1B 1AB0-1ABD 1ABF-1B59
    1B6B-1B73 1B80-1BF3 1C00-1C37 1C40-1C7D 1C80-1CBF 1CD0-1CD2 1CD4-1FBC 1FBE 1FC2-1FCC
    1FD0-1FDB 1FE0-1FEC 1FF2-1FFC 2071 207F 2090-209C 2102 2107 210A-2113 2115 2119-211D 2124
    2126 2128 212A-212D 212F-2139 213C-213F 2145-2149 214E 2160-2188 2C00-2CE4 2CEB-2CF3
    2D00-2D6F 2D7F-2DFF 3131-318E A4D0-A4FD A500-A60C A610-A66F A674-A67D A67F-A6F1 A717-A827
    A82C A840-A873 A880-A8C5 A8D0-A8F7 A8FB A8FD-A92D A930-A953 A960-A9C0 A9CF-A9D9 AA00-AA59
    AAE0-AAEF AAF2-AB69 AB70-ABEA ABEC-D7FB FB00-FBB1 FBD3-FD3D FD50-FDC7 FDF0-FDFB FE20-FE2F
    FE70-FEFC FF10-FF19 FF21-FF3A FF41-FF5A FFA0-FFDC 10000-10D39 10E80-1342E 14400-14646
    16800-16E7F 1B170-1BC9E 1D400-1D7FF 1DA00-1E14E 1E290-1E2F9 1E7E0-1E959 1EE00-1EEBB
    1FBF0-1FBF9
""")

# Letters and digits of scripts without spaces: Han, kana, Thai, Lao, Burmese, Khmer, Tai, Yi,
# Tangut. Splitting them into words would take a dictionary, so each character is a word.
CHARACTER_WORDS = _character_class("""
    E01-E30 E32-E33 E40-E46 E50-E59 E81-EB0 EB2-EB3 EBD-EC6 ED0-EDF 1000-102A 103F-1049
    1050-1055 105A-105D 1061 1065-1066 106E-1070 1075-1081 108E 1090-1099 1780-17B3 17D7 17DC
    17E0-17F9 1950-19DA 1A20-1A54 1A80-1A99 1AA7 3005-3007 3021-3029 3031-3035 3038-303C
    3041-3096 309D-309F 30A1-30FA 30FD-312F 31A0-31BF 31F0-31FF 3400-4DBF 4E00-A48C A9E0-A9E4
    A9E6-A9FE AA60-AA76 AA7A AA7E-AAAF AAB1 AAB5-AAB6 AAB9-AABD AAC0 AAC2-AADD F900-FAD9
    FF66-FF6F FF71-FF9D 16F00-16F4A 17000-18D08 1AFF0-1B167 20000-323AF
""")

# Marks that follow such a character: vowel signs, tones, voicing and length marks.
CHARACTER_MARKS = _character_class("""
    E31 E34-E3A E47-E4E EB1 EB4-EBC EC8-ECE 102B-103E 1056-1059 105E-1060 1062-1064 1067-106D
    1071-1074 1082-108D 108F 109A-109D 17B4-17D3 17DD 1A55-1A7F 302A-302F 3099-309A 30FC A9E5
    AA7B-AA7D AAB0 AAB2-AAB4 AAB7-AAB8 AABE-AABF AAC1 FF70 FF9E-FF9F 16F4F-16F92 16FE4-16FF1
""")

# Terminators that end a sentence only before white space or at the end of the text.
WEAK_TERMINATORS = ".!?…‥‼⁇⁈⁉‽"

# Terminators that always end a sentence: the sentence terminals of Unicode (STerm) for Greek,
# Armenian, Arabic, Syriac, N'Ko, Samaritan; Devanagari and related ones, Sinhala, Thai; Tibetan,
# Burmese, Ethiopic, Canadian syllabics, Tagalog, Khmer, Mongolian, Limbu, Tai Tham, Balinese,
# Lepcha, Ol Chiki; CJK; Lisu, Vai, Bamum, Phags-pa, Saurashtra, Kayah Li, Javanese, Cham,
# Meetei Mayek; the forms of full width; Brahmi, Chakma.
STRONG_TERMINATORS = _characters("""
    37E 589 61E-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 DF4 E5A-E5B F0D-F0E 104B 1362
    1367-1368 166E 1735-1736 17D4-17D5 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F
    1C3B-1C3C 1C7E-1C7F 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9
    AA5D-AA5F AAF0-AAF1 ABEB FE12 FE52 FE56-FE57 FF01 FF0E FF1F FF61 11047-11048 11141-11143
""")

__all__ = ["BEFORE_NAME", "BEFORE_NUMBER", "CONTINUERS", "MAY_END", "MONTHS", "STARTERS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Titles and connectives never end a sentence, whether or not a capital follows. Those with a
# capital are case-sensitive, since "sen" and "hon" are words that end sentences in Swedish.
BEFORE_NAME = _words("""
    mr mrs ms messrs mme mlle mmes dr dra drs prof st ste mt capt cpt cmdr lt sgt cpl supt insp
    Gen Col Maj Adm Rev Hon Pres Gov Sen Rep Fr Ft Sig Ing Dipl Hr Hrn Frl Ste Mgr
    sr sra srta dña ud uds dott avv dhr mevr inż proff
    vs viz cf e.g i.e ca approx resp incl al
    z.b d.h u.a v.a s.o s.u bzw vgl ggf evtl inkl zzgl abzgl sog insg Abg Abt Bekl Fa Kfz
    p.ej pág núm p.ex bijv o.a bl.a t.ex f.eks np tzn tzw św ul např tzv
    т.е ул проф акад напр π.χ δηλ د डॉ
""")

# Abbreviations that may end a sentence, which is assumed if a capital follows.
MAY_END = _words("""
    etc inc ltd co corp bros jr esq dept assn univ ave blvd rd gmbh bhd pty llc
    jan feb aug sept oct okt nov dec dez mon tue tues wed thu thur thurs fri
    usw usf u.dgl mio mrd bd str tel enz blz osv dvs m.fl m.m itd itp atd apod ecc κ.λπ κ.ά
    и.т.д т.д т.п др гг руб тыс млн млрд стр
    cir temp min sec hrs hr yr yrs mos oz lb lbs ft tsp tbsp cm km kg
""")

# Words that are abbreviations only before a number: "no. 7", but "She said no."
BEFORE_NUMBER = _words("""
    no nos nr fig figs p pp vol vols ch art sec eq eqs ed pt op opp par pos cap col abs kap lit
    mar apr jun jul sun sat ver kl č str стр c г n º n° nº № gem
""")

# Words that follow the German "gem." (according to), but not the English "a gem."
AFTER_GEM = _words("""
    abs absprache anlage art artikel gesetz nr ordnung plan protokoll satz satzung vertrag ziff
    der dem den des dieser diesem diesen ihrer ihrem unserer unserem
""")

# "am 3. Oktober", "am 3. Okt.": a small number before a month is an ordinal.
MONTHS = _words("""
    januar februar märz april mai juni juli august september oktober november dezember jänner
    jan feb mär mrz apr jun jul aug sept okt nov dez
""")

# After initials and acronyms ("the U.S. The") only these words start a new sentence.
STARTERS = _words("""
    The This That These Those There Then They He She It We You His Her Its Our Their My Your
    When Where While What Why How If But And Or So Yet However Although Because Since After
    Before During In On At For From With As An One Some Many Most Not No Now Here Also Even
    Did Do Does Is Are Was Were Have Has Had Can Could Would Should Mr Mrs Ms Miss Dr
    Der Die Ein Eine Er Sie Es Wir Ich Und Aber Il Elle Ils Elles Nous Les Une Mais C'est
""")

# Words that continue a sentence after a name with "!": "he left Yahoo! in the spring".
CONTINUERS = _words("""
    in on at by for from of to with as is was are were has had will would and or than
""")

LINE_ENDS = "\n\r\v\f\x85\u2028\u2029"
_CLOSERS = "\"')]}*_"
ALL_CLOSERS = _CLOSERS + "”’»›」』）】〉》］｝〕〗〙〛＂＇"

TAG_NAMES = (
    "br|p|div|li|ul|ol|dl|dt|dd|tr|td|th|table|h1|h2|h3|h4|h5|h6|hr|blockquote|pre|section|article"
    "|header|footer|title|option"
)

_TAG = f"/?(?:{TAG_NAMES})\\b[^<>]*>"


def _break_pattern(terminators: str, closers: str, line_ends: str) -> re.Pattern[str]:
    # The pattern begins with a single character class, so that the engine finds the next candidate
    # quickly. The branches for terminators and line ends cannot fail, so that there is no
    # backtracking and the time is linear. Group 1 ends where the sentence would end. German closes
    # quotations with “ and «, which open them elsewhere, and French puts a space before ».
    marks = f"(?<=[{terminators}])[{terminators}]*[{re.escape(closers)}]*"
    late_closer = "(?:[“«‹](?=\\s)|[ \xa0\u202f]»(?=\\s))?"
    line_end = f"(?<=[{line_ends}])"
    return re.compile(
        f"[{terminators}{line_ends}<](?:{marks}{late_closer}()|{line_end}|(?<=<)(?i:{_TAG}))\\s*"
    )


BREAK = _break_pattern(WEAK_TERMINATORS + STRONG_TERMINATORS, ALL_CLOSERS, LINE_ENDS)
_ASCII_BREAK = _break_pattern(".!?", _CLOSERS, "\n\r\v\f")

# Beginning of a line that starts an item of a list or is a horizontal rule.
_ITEM = re.compile(r"[-*+•‣◦·–—][^\S\n]|\(?\d{1,3}[.)]\s|\(?[A-Za-z]\)\s|[-=_*~#]{3}")
_ITEM_NUMBER = re.compile(r"([0-9]{1,3})\.\s")
OPENERS = "\"'([{“‘«‹„‚¿¡「『（《"
CHINESE_DIGITS = "〇零一二三四五六七八九十百千"
_LONGEST_ABBREVIATION = 8
# Characters before an exclamation mark in which a name is looked for.
_LONGEST_NAME = 24
_ADDRESS_SIGNS = frozenset("@/\\:_.<>=&")
_STRONG = frozenset(STRONG_TERMINATORS)
_LINE_END_SET = frozenset(LINE_ENDS)


def sentence_spans(text: str, start: int = 0) -> list[tuple[int, int]]:
    """Split a text into sentences; return (start, end) of each, without surrounding white space.

    Between sentences there are only white space and HTML tags that break lines. The first one
    begins at `start`; earlier text is context.

    Sentences end at the terminators of Latin, Greek, Cyrillic, CJK, Arabic, Indic, Armenian,
    Ethiopic, Burmese, Khmer, Tibetan and other scripts, together with the quotes and brackets
    that close there; at blank lines, before the items of a list, and at HTML breaks such as ``<br
    />`` and ``</p>``. They do not end after common abbreviations and initials, in numbers,
    addresses and ellipses, or at the mere end of a line, which may be wrapped. Thai and Lao
    separate sentences by spaces, but clauses too, so they are not split.
    """
    spans = []
    breaks = (_ASCII_BREAK if text.isascii() else BREAK).finditer(text, start)
    if start == 0:
        start = len(text) - len(text.lstrip())
    for candidate in breaks:
        begin, end = candidate.span()
        stop = candidate.end(1)
        if stop > 0:  # terminators
            item = _start_of_item(text, start, begin, stop)
            if item > 0:
                stop, end = start + len(text[start:item].rstrip()), item
            elif not _ends_sentence(text, start, begin, stop, end):
                continue
        elif text[begin] == "<" or _starts_anew(text, begin, end):
            stop = start + len(text[start:begin].rstrip())
        else:
            continue
        if start < stop:
            spans.append((start, stop))
        start = end
    if start < len(text):
        spans.append((start, start + len(text[start:].rstrip())))
    return spans


def _starts_anew(text: str, begin: int, end: int) -> bool:
    """Return whether a paragraph or list item starts after the space ``text[begin:end]``."""
    gap = text[begin:end]
    return (
        gap.count("\n") > 1
        or gap.count("\r") > 1
        or "\f" in gap
        or "\u2029" in gap
        or _ITEM.match(text, end) is not None
    )


def _start_of_item(text: str, start: int, begin: int, stop: int) -> int:
    """Return the start of "2.", which ends at `stop`, if the sentence began with "1.", else 0."""
    if stop != begin + 1 or text[begin] != "." or not text[begin - 1 : begin].isdecimal():
        return 0
    first = _ITEM_NUMBER.match(text, start)
    if first is None:
        return 0
    number = str(int(first[1]) + 1)
    item = begin - len(number)
    is_item = item > first.end() and text.startswith(number, item) and text[item - 1].isspace()
    return item if is_item else 0


def _ends_sentence(text: str, start: int, begin: int, stop: int, end: int) -> bool:
    """Return whether a sentence ends with the marks ``text[begin:stop]``.

    The sentence began at `start`; from `stop` to `end` there is white space.
    """
    following = text[end : end + 1]
    if not following:
        return True
    marks = text[begin:stop]
    if marks == "." and text[stop:end] == " " and following not in WEAK_TERMINATORS:
        # This is by far the most frequent case.
        return not _abbreviates(text, start, begin, end)
    if not _STRONG.isdisjoint(marks):
        # Japanese continues after a quoted sentence: 「はい。」と言った。
        return not (marks[-1] in "」』" and "ぁ" <= following <= "ゖ")
    ellipsis = ".." in marks or "…" in marks or "‥" in marks
    # Without a space the mark is part of a number or an address, except in Chinese and Japanese.
    if stop == end:
        if begin > 0 and following in CHINESE_DIGITS and text[begin - 1] in CHINESE_DIGITS:
            return False  # 五.一, the first of May
        is_end = "\u3040" <= following <= "\u9fff" or _lacks_space(text, begin, end)
        return is_end and not ellipsis
    if not _LINE_END_SET.isdisjoint(text[stop:end]) and _starts_anew(text, stop, end):
        return True
    if following in WEAK_TERMINATORS:  # the marks continue: . . .
        return False
    if marks == ".":
        return not _abbreviates(text, start, begin, end)
    if marks == "!" and following.islower() and _is_of_name(text, start, begin, end):
        return False
    if following in OPENERS:
        following = text[end + 1 : end + 2]
    plain = marks[-1] in WEAK_TERMINATORS and not ellipsis
    return plain or not following.islower()


def _is_of_name(text: str, start: int, begin: int, end: int) -> bool:
    """Return whether an exclamation mark belongs to a name ("he left Yahoo! in the spring").

    The first word of a sentence is not taken for a name, since it may be a cry ("Wow! in the end").
    """
    before = text[max(start, begin - _LONGEST_NAME) : begin].split()
    if len(before) < 2 or text[begin - 1].isspace():
        return False
    word = before[-1].lstrip(OPENERS)
    next_word = text[end : end + 10].split(maxsplit=1)[0]
    return word[:1].istitle() and word[1:2].islower() and next_word in CONTINUERS


def _lacks_space(text: str, begin: int, end: int) -> bool:
    """Return whether a space is missing ("so it goes.The next") outside of an address.

    Three of a hundred IMDB reviews lack spaces, some of them everywhere.
    """
    before, after = text[max(0, begin - 2) : begin], text[end : end + 2]
    if not (before.islower() and after.istitle() and (before + after).isalpha()):
        return False
    around = text[max(0, begin - 40) : begin].split()[-1] + text[end : end + 40].split()[0]
    return _ADDRESS_SIGNS.isdisjoint(around.rstrip(".!?:"))


def _abbreviates(text: str, start: int, begin: int, end: int) -> bool:
    """Return whether the full stop at `begin` belongs to an abbreviation inside a sentence.

    From `begin` + 1 to `end` there is white space.
    """
    before = text[max(start, begin - 2 * _LONGEST_ABBREVIATION) : begin].split()
    if not before:
        return False
    word = before[-1].lstrip(OPENERS + "-")
    if len(word) > _LONGEST_ABBREVIATION:
        return False
    following = text[end]
    lower = word.lower()
    is_abbreviation = lower in BEFORE_NAME or word in BEFORE_NAME
    if text[begin - 1].isspace():  # tokens set apart by spaces: "mr . smith", ". . . and"
        return is_abbreviation or (word == "." and following.islower())
    if is_abbreviation:
        return True
    if word.isdecimal():
        return _is_ordinal(text, start, begin, end, word)
    if lower in BEFORE_NUMBER and (following == "§" or (following.isdecimal() and lower != "gem")):
        return True  # "gem. § 5", but "It is a gem. 10/10"
    if lower == "gem":
        noun = text[end : end + 40].split(maxsplit=1)[0].rstrip(",;:.!?").lower()
        return noun in AFTER_GEM or (noun.endswith("ung") and len(noun) > len("Samsung"))
    if lower == "lit" and before[-2:-1] and before[-2][-1].isdecimal():  # "Abs. 1 lit. a DSGVO"
        return True
    if lower in MAY_END:
        return following.islower() or following.isdecimal()
    # Initials and acronyms remain: J. R. Tolkien, the U.S. Senate, z. B., p. m.
    if (len(word) != 1 and word[-2:-1] != ".") or word.swapcase() == word:
        return False
    next_word = text[end : end + 10].split(maxsplit=1)[0]
    if len(word) == 1 and word.islower() and following.islower():  # "e. g." but "plan b. we"
        return any(len(other) < 4 and other[-1] == "." for other in (*before[-2:-1], next_word))
    return next_word.strip(OPENERS + ",;:.!?…") not in STARTERS


def _is_ordinal(text: str, start: int, begin: int, end: int, number: str) -> bool:
    """Return whether the number is an ordinal: of a list item, or a day ("am 3. Oktober")."""
    if len(number) <= 3 and begin - len(number) <= start + 1:  # 1 for a bracket
        return True
    if len(number) > 2:
        return False
    next_word = text[end : end + 10].split(maxsplit=1)[0]
    return text[end].islower() or next_word.lower().rstrip(".") in MONTHS
