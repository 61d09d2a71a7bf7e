"""Check that links inside a built site lead somewhere: ``python -m tests.site_links FOLDER``.

Sphinx warns of links between pages. Not of those in raw HTML, in generated pages and to files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, and what it links to and shows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in {"href", "src"}:
                self.links.append(value or "")


def pages_of(site: Path) -> list[Path]:
    """Give the pages of a site, without the templates of its theme."""
    return [file for file in sorted(site.rglob("*.html")) if site / "_static" not in file.parents]


def broken_links(site: Path) -> Iterator[str]:
    """Give each link of a site that leads to no file or no place of a page."""
    site = site.resolve()
    pages = {file: Page(file.read_text("utf-8")) for file in pages_of(site)}
    for file, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            target = (file.parent / path).resolve() if path else file
            known = pages[target].anchors if target in pages else {""}
            if not target.is_file() or (target in pages and unquote(parts.fragment) not in known):
                yield f"{file.relative_to(site)}: {link}"


def main(site: str) -> int:
    """Print broken links; 1 if there are any, or no page at all."""
    broken = list(broken_links(Path(site)))
    n_pages = len(pages_of(Path(site)))
    print(*broken, f"{n_pages} pages, {len(broken)} broken links inside", sep="\n")
    return int(bool(broken) or not n_pages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
