"""What `make docs` checks of a built site."""

import pytest

from tests.site_links import broken_links, main


@pytest.fixture
def site(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top-title">A</h1><a href="more/b.html#place">b</a>'
    )
    (tmp_path / "more" / "b.html").write_text(
        '<p id="place">B</p><a href="../index.html#top-title">a</a><a href="#place">here</a>'
        '<a href="https://example.org/not-asked">outside</a><img src="../picture%20one.png">'
    )
    (tmp_path / "picture one.png").write_bytes(b"")
    return tmp_path


def test_links_that_lead_somewhere_are_no_fault(site):
    assert list(broken_links(site)) == []
    assert main(str(site)) == 0


@pytest.mark.parametrize("link", ["gone.html", "more/b.html#gone", "#gone", "more/", "../out.html"])
def test_a_link_that_leads_nowhere_is_named_with_its_page(site, link):
    with (site / "index.html").open("a") as page:
        page.write(f'<a href="{link}">broken</a>')
    assert list(broken_links(site)) == [f"index.html: {link}"]
    assert main(str(site)) == 1


def test_a_picture_that_is_not_there_is_named_and_templates_of_a_theme_are_no_pages(site):
    (site / "picture one.png").unlink()
    (site / "_static").mkdir()
    (site / "_static" / "template.html").write_text('<a href="{{ gone }}">x</a>')
    assert list(broken_links(site)) == ["more/b.html: ../picture%20one.png"]


def test_a_folder_without_pages_is_a_fault(tmp_path):
    assert main(str(tmp_path)) == 1
