r"""Characters of words, as character classes for regular expressions.

Python's ``\w`` leaves out combining marks: the vowel signs of Devanagari or the points of Hebrew
would cut words into pieces. It also depends on the Unicode version of Python, and then the ids
of words would too. The ranges here are fixed: letters, marks and digits of Unicode 16, with the
places that were still free within a script. Beyond the basic plane, where nearly all scripts
are historic, whole blocks are taken.
"""

from __future__ import annotations


def _character_class(ranges: str) -> str:
    """Write code points and their ranges for use between the brackets of a pattern."""
    return "".join(
        "-".join(_escaped(int(bound, 16)) for bound in span.split("-")) for span in ranges.split()
    )


def _characters(ranges: str) -> str:
    """Return the characters of code points and their ranges."""
    bounds = [[int(bound, 16) for bound in span.split("-")] for span in ranges.split()]
    return "".join(chr(code) for span in bounds for code in range(span[0], span[-1] + 1))


def _escaped(code: int) -> str:
    if code < 0x80:
        return chr(code)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Letters, marks and digits of scripts that put spaces between words. Variation selectors and
# enclosing marks are left out: they follow emoji, which are no words.
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

# Letters and digits of scripts that do not: Han, kana, Thai, Lao, Burmese, Khmer, Tai, Yi,
# Tangut. Finding words there takes a dictionary, so each character is a word.
CHARACTER_WORDS = _character_class("""
    E01-E30 E32-E33 E40-E46 E50-E59 E81-EB0 EB2-EB3 EBD-EC6 ED0-EDF 1000-102A 103F-1049
    1050-1055 105A-105D 1061 1065-1066 106E-1070 1075-1081 108E 1090-1099 1780-17B3 17D7 17DC
    17E0-17F9 1950-19DA 1A20-1A54 1A80-1A99 1AA7 3005-3007 3021-3029 3031-3035 3038-303C
    3041-3096 309D-309F 30A1-30FA 30FD-312F 31A0-31BF 31F0-31FF 3400-4DBF 4E00-A48C A9E0-A9E4
    A9E6-A9FE AA60-AA76 AA7A AA7E-AAAF AAB1 AAB5-AAB6 AAB9-AABD AAC0 AAC2-AADD F900-FAD9
    FF66-FF6F FF71-FF9D 16F00-16F4A 17000-18D08 1AFF0-1B167 20000-323AF
""")

# Marks that follow one of those: vowel signs, tones, voicing and length marks.
CHARACTER_MARKS = _character_class("""
    E31 E34-E3A E47-E4E EB1 EB4-EBC EC8-ECE 102B-103E 1056-1059 105E-1060 1062-1064 1067-106D
    1071-1074 1082-108D 108F 109A-109D 17B4-17D3 17DD 1A55-1A7F 302A-302F 3099-309A 30FC A9E5
    AA7B-AA7D AAB0 AAB2-AAB4 AAB7-AAB8 AABE-AABF AAC1 FF70 FF9E-FF9F 16F4F-16F92 16FE4-16FF1
""")

# These end a sentence only before white space or at the end of the text.
WEAK_TERMINATORS = ".!?…‥‼⁇⁈⁉‽"

# These end a sentence wherever they stand: the sentence terminals of Unicode (STerm) for Greek,
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
