"""CSV of any dialect is read as it was written; damaged CSV is read, or refused by its name."""

import csv
import gzip
import io
import re
from contextlib import redirect_stderr
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sk_han
from sk_han.cli import main
from sk_han.datasets import load_csv
from tests.tiny_models import fitted_classifier

FEW = st.sampled_from("aB 1.;,\t|'\"\n\r-#=éü")  # their bytes in cp1252 are never UTF-8
ANY = FEW | st.characters(codec="utf-8")


@st.composite
def tables(draw, encodings, texts):
    """Draw texts, the lines of a table of them, and the options that read it."""
    encoding, sep = draw(st.sampled_from(encodings)), draw(st.sampled_from(",;\t|"))
    end, is_quoted = draw(st.sampled_from(["\n", "\r\n", "\r"])), draw(st.booleans())
    cells = draw(st.lists(texts[encoding.startswith("utf")], min_size=1, max_size=5))

    def line(*cells):
        quotes = [is_quoted or re.search(f'["\r\n{sep}]', cell) for cell in cells]
        pairs = zip(cells, quotes, strict=True)
        written = ['"{}"'.format(c.replace('"', '""')) if quote else c for c, quote in pairs]
        return sep.join(written) + end + draw(st.sampled_from(["", "", end, 2 * sep + end]))

    lines = [line(cell, "ab"[i % 2], f"{i},25") for i, cell in enumerate(cells)]
    lines[-1] = lines[-1].rstrip(draw(st.sampled_from(["", end])))
    return cells, [line("text", "label", "price"), *lines], {"encoding": encoding, "sep": sep}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    sk_han.save(fitted_classifier(), folder / "m.han")
    return folder


def predict(path, options):
    """Predict by the command line; return its exit code, what it told, and the texts it kept."""
    out, told = path.parent / "out.csv", io.StringIO()
    out.unlink(missing_ok=True)
    given = [f"--{name}={value}" for name, value in options.items()]
    with redirect_stderr(told):
        code = main(
            [
                "predict",
                str(path.parent / "m.han"),
                str(path),
                "--keep=text",
                *given,
                "-qo",
                str(out),
            ]
        )
    if code:
        return code, told.getvalue(), []
    with open(out, newline="", encoding=options["encoding"]) as file:
        _, *rows = csv.reader(file, delimiter=options["sep"])
    return code, told.getvalue(), [row[0] for row in rows]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=200)
@given(
    table=tables(
        ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"],
        [st.text(FEW, max_size=12), st.text(ANY, max_size=12)],
    ),
    ending=st.sampled_from(["", ".gz"]),
)
def test_a_table_of_any_dialect_is_read_as_it_was_written(folder, table, ending):
    texts, lines, options = table
    path = folder / f"a.csv{ending}"
    content = "".join(lines).encode(options["encoding"])
    path.write_bytes(gzip.compress(content, 1) if ending else content)
    options = options | {"encoding": options["encoding"].removesuffix("-sig")}
    assert load_csv(path, **options)[0] == texts
    numbers = load_csv(path, number="price", decimal=",", **options)[1]
    assert numbers.tolist() == [i + 0.25 for i in range(len(texts))]
    assert predict(path, options)[::2] == (0, texts)


# Texts of which no first or last character is a quotation mark, a separator or a line end.
ENDS = st.text("aé1.", min_size=1, max_size=4)
WORDS = st.tuples(ENDS, st.sampled_from(["", *",;\t|\n", '"']), ENDS).map("".join)


@st.composite
def damaged(draw):
    """Draw a table with one fault, its texts and options, and how many of its rows are whole."""
    texts, lines, options = draw(tables(["utf-8"], [WORDS, WORDS]))
    content = "".join(lines).encode()
    fault = draw(st.sampled_from(["quote", "separator", "byte", "cut", "cut gzip", "bit of gzip"]))
    n_whole = len(texts)
    if "gzip" in fault:
        content = gzip.compress(content, 1, mtime=0)
    place = draw(st.integers(0, len(content) - 1))
    if fault == "bit of gzip":
        changed = bytes([content[place] ^ 1 << draw(st.integers(0, 7))])
        content = content[:place] + changed + content[place + 1 :]
    elif "cut" in fault:
        n_whole = sum(end <= place for end in accumulate(len(each.encode()) for each in lines)) - 1
        content = content[:place]
    else:
        added = {"quote": b'"', "separator": options["sep"].encode(), "byte": b"\xe9"}[fault]
        content = content[:place] + added + content[place:]
    return fault, content, texts, options, n_whole


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.* a cell goes on to line")
@settings(max_examples=200)
@given(damaged())
def test_a_damaged_table_is_refused_by_name_or_loses_no_row(folder, drawn):
    fault, content, texts, options, n_whole = drawn
    path = folder / "a.csv"
    path.write_bytes(content)
    code, told, kept = predict(path, options)
    try:
        found = load_csv(path, label=None, **options)
    except ValueError as error:
        found = error
    if isinstance(found, ValueError):
        assert str(path) in str(found)
        assert code == 1
        assert str(path) in told
        if fault in ("quote", "separator"):
            assert re.search(r", line \d|has no column|decode byte", str(found))
        return
    assert (code, kept) == (0, found)
    assert len(found) >= n_whole
    if fault in ("cut", "bit of gzip"):
        assert found[:n_whole] == texts[:n_whole]
    assert fault not in ("byte", "cut gzip")
