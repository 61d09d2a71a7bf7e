"""A rendered page read again, and texts that a page must survive."""

import unicodedata
from html.parser import HTMLParser

from hypothesis import strategies as st

VOID = {"input", "meta"}
MARKUP = st.sampled_from(
    ["<script>alert(1)</script>", "&amp;", "&lt;", "&#0;", "<!--", "-->", "]]>", '"', "'", "</div>"]
)
# st.text() leaves surrogates out; documents read with errors="surrogateescape" hold some.
ANYTHING = st.lists(
    st.one_of(MARKUP, st.text(), st.characters(), st.sampled_from(["\ud800", "\udfff", "\x00"]))
).map("".join)


def visible(text):
    """Show the controls of ASCII as their pictures, and other characters that pages cannot hold."""

    def shown(character):
        code = ord(character)
        if (code < 0x20 and character not in "\t\n\r") or code == 0x7F:
            return chr(0x2421 if code == 0x7F else 0x2400 + code)
        is_control = unicodedata.category(character) in ("Cc", "Cs") and code >= 0x80
        is_none = 0xFDD0 <= code <= 0xFDEF or code in (0xFFFE, 0xFFFF)
        return "\ufffd" if is_control or is_none else character

    return "".join(map(shown, text))


class Page(HTMLParser):
    """A parsed page: its tags, the text of its sentences, and the texts of other elements."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.sentences, self.texts, self.data = [], [], [], {}, []
        # Browsers do so before they parse; html.parser does not.
        self.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
        self.close()
        assert self.open == [], "elements are left open"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append((tag, attributes.get("class", "")))
            if "han-sentence" in attributes.get("class", "").split():
                self.sentences.append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, kind = self.open[-1] if self.open else ("", "")
        if tag != "style":
            self.data.append(data)
        self.texts.setdefault(f"{tag}.{kind}" if kind else tag, []).append(data)
        if any(kind == "han-sentence" for _, kind in self.open):
            self.sentences[-1] += data

    @property
    def text(self):
        """All sentences, as they stand in the document."""
        return "".join(self.sentences)

    @property
    def all_text(self):
        """All that is shown, the title too."""
        return "".join(self.data)

    @property
    def line(self):
        """All that is shown, in one line with single blanks."""
        return " ".join(self.all_text.split())

    def attributes(self, tag, kind=None):
        return [a for t, a in self.tags if t == tag and kind in (None, a.get("class"))]
