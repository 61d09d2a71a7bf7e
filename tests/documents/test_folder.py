"""A folder of documents is whole or does not open, and what is damaged is told."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.documents import folder as folders
from sk_han.documents.folder import writing
from sk_han.documents.integer_file import BLOCK, BlockChecksums
from sk_han.utils.atomic_write import replacing

IN_MEMORY = DocumentArray.from_nested([[[2, 3], [4]], [], [[5, 2, 2]], [[7]]])
OTHERS = IN_MEMORY[[3, 0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    IN_MEMORY.save(tmp_path / "documents")
    return tmp_path / "documents"


def data_file(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"{name}-*.bin")
    return found


def described(folder: Path, **entries: Any) -> None:
    """Change entries of the description; None takes one out."""
    path = folder / "documents.json"
    description = json.loads(path.read_text()) | entries
    description = {k: v for k, v in description.items() if v is not None}
    description["sha256"] = folders._seal(description)
    path.write_text(json.dumps(description))


def sealed(folder: Path) -> None:
    """Give files the checksums that belong to them, as someone with malice would."""
    sums = [BlockChecksums() for _ in folders._TYPES]
    for name, of_file in zip(folders._TYPES, sums, strict=True):
        of_file.update(memoryview(data_file(folder, name).read_bytes()))
    data = np.concatenate([of_file.values() for of_file in sums]).astype("<u4").tobytes()
    data_file(folder, "checksums").write_bytes(data)
    described(folder, checksums=zlib.crc32(data))


def test_no_documents_come_back(tmp_path: Path) -> None:
    for nested in ([], [[], []]):
        DocumentArray.from_nested(nested).save(tmp_path / "documents", overwrite=True)
        assert DocumentArray.open(tmp_path / "documents").to_nested() == nested


def test_a_word_takes_four_bytes_a_sentence_four_and_a_document_sixteen(folder: Path) -> None:
    sizes = {p.name.partition("-")[0]: p.stat().st_size for p in folder.glob("*.bin")}
    of_blocks = sizes.pop("checksums")
    assert sizes == {"word_ids": 4 * 7, "words_per_sentence": 4 * 4, "document_starts": 16 * 5}
    assert of_blocks == 4 * 3


def test_equal_documents_have_equal_fingerprints(folder: Path, tmp_path: Path) -> None:
    with writing(tmp_path / "again", overwrite=False) as writer:
        for rows in ([0], [1, 2], [], [3]):
            writer.append(IN_MEMORY[rows])
    OTHERS.save(tmp_path / "others")
    one, again, others = (
        json.loads((path / "documents.json").read_text())["fingerprint"]
        for path in (folder, tmp_path / "again", tmp_path / "others")
    )
    assert one == again
    assert one != others


# What is there before


def test_documents_that_are_there_are_replaced_when_that_is_asked_for(folder: Path) -> None:
    with pytest.raises(FileExistsError, match=r"holds documents already.*overwrite=True"):
        OTHERS.save(folder)
    assert DocumentArray.open(folder).to_nested() == IN_MEMORY.to_nested()
    OTHERS.save(folder, overwrite=True)
    assert DocumentArray.open(folder).to_nested() == OTHERS.to_nested()
    assert len(list(folder.iterdir())) == 5


def test_opened_documents_may_replace_themselves(folder: Path) -> None:
    DocumentArray.open(folder)[[3, 0]].save(folder, overwrite=True)
    assert DocumentArray.open(folder).to_nested() == OTHERS.to_nested()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"other files.*'thesis.txt'.*a new folder"):
        IN_MEMORY.save(tmp_path, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FileExistsError, match="is a file; give the name of a folder"):
        IN_MEMORY.save(tmp_path / "thesis.txt", overwrite=overwrite)


def test_a_folder_in_no_folder_is_refused_with_the_repair(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere; .*os.makedirs"):
        IN_MEMORY.save(tmp_path / "nowhere" / "documents")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        IN_MEMORY.save(tmp_path / "file" / "documents")


# Interrupted writing


def write_and_raise(folder: Path, error: BaseException) -> None:
    with writing(folder, overwrite=True) as writer:
        writer.append(OTHERS)
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", ["documents", "new"])
def test_writing_that_fails_leaves_what_was_there(folder: Path, name: str, error: type) -> None:
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(error):
        write_and_raise(folder.parent / name, error())
    assert sorted(folder.parent.rglob("*")) == before
    assert DocumentArray.open(folder).to_nested() == IN_MEMORY.to_nested()


@pytest.mark.thorough
def test_a_killed_writer_leaves_nothing_that_opens(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from sk_han import DocumentArray\n"
        "from sk_han.documents.folder import writing\n"
        "with writing(sys.argv[1], overwrite=True) as writer:\n"
        "    writer.append(DocumentArray.from_nested([[[9]]] * 100_000))\n"
        "    print('written', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    path = tmp_path / "documents"
    for before in (None, IN_MEMORY):
        if before is not None:
            before.save(path)
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"written\n"
            writer.send_signal(signal.SIGKILL)
        if before is None:
            with pytest.raises(FileNotFoundError, match="writing was interrupted"):
                DocumentArray.open(path)
        else:
            assert DocumentArray.open(path).to_nested() == before.to_nested()
    assert len(list(path.glob("word_ids-*"))) == 3
    long_ago = time.time() - 2 * folders._ABANDONED_AFTER
    for file in path.glob("*.bin"):
        os.utime(file, (long_ago, long_ago))
    OTHERS.save(path, overwrite=True)
    assert len(list(path.glob("word_ids-*"))) == 1


def test_ids_are_replaced_when_all_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_IDS_AT_ONCE", 8)
    with writing(tmp_path / "replaced", overwrite=False) as writer:
        writer.append(IN_MEMORY)
        writer.replace_ids(np.array([0, 0, 9, 8, 7, 6, 5, 4], dtype=np.int32))
    found = DocumentArray.open(tmp_path / "replaced")
    assert found.to_nested() == [[[9, 8], [7]], [], [[6, 9, 9]], [[4]]]
    found.in_memory().save(tmp_path / "at once")
    one, other = (
        json.loads((tmp_path / name / "documents.json").read_text())
        for name in ("replaced", "at once")
    )
    assert {name for name in one if one[name] != other[name]} == {"files", "sha256"}


def test_a_slow_writer_replaces_nothing_that_another_has_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "documents"
    with ExitStack() as slow_writer:
        slow_writer.enter_context(writing(path, overwrite=False)).append(IN_MEMORY)
        OTHERS.save(path)
        with pytest.raises(FileExistsError, match="holds documents already"):
            slow_writer.close()
    assert DocumentArray.open(path).to_nested() == OTHERS.to_nested()
    assert len(list(path.iterdir())) == 5


def test_writers_that_replace_each_other_leave_no_files(folder: Path) -> None:
    with writing(folder, overwrite=True) as slow:
        slow.append(IN_MEMORY)
        OTHERS.save(folder, overwrite=True)
        assert DocumentArray.open(folder).to_nested() == OTHERS.to_nested()
    assert DocumentArray.open(folder).to_nested() == IN_MEMORY.to_nested()
    assert len(list(folder.iterdir())) == 5


def test_documents_that_are_replaced_while_they_are_opened_are_the_new_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described_before = folders._described

    def described_then_replaced(path: Path) -> dict[str, Any]:
        found = described_before(path)
        monkeypatch.undo()
        OTHERS.save(folder, overwrite=True)
        return found

    monkeypatch.setattr(folders, "_described", described_then_replaced)
    assert DocumentArray.open(folder).to_nested() == OTHERS.to_nested()


def test_files_that_may_not_be_read_are_not_called_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        DocumentArray.open(folder)


# Damage


def changed(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    path = data_file(folder, name)
    path.write_bytes(change(path.read_bytes()))


def cut_off(folder: Path) -> None:
    changed(folder, "word_ids", lambda data: data[:-1])


def with_starts(folder: Path, rows: list[int], starts: Any) -> None:
    """Give documents of some rows other starts of their sentences and words."""
    path = data_file(folder, "document_starts")
    found = np.fromfile(path, "<i8").reshape(-1, 2)
    found[rows] = starts
    found.tofile(path)
    sealed(folder)


def a_pipe(folder: Path) -> None:
    path = data_file(folder, "word_ids")
    path.unlink()
    os.mkfifo(path)


def elsewhere(folder: Path) -> None:
    outside = folder.parent / "secret-0123456789abcdef.bin"
    outside.write_bytes(bytes(28))
    files = json.loads((folder / "documents.json").read_text())["files"]
    described(folder, files=files | {"word_ids": f"../{outside.name}"})


def description(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "documents.json").write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut_off, "word_ids-.* has 27 bytes instead of 28"),
        (
            lambda folder: changed(folder, "words_per_sentence", lambda data: data + bytes(4)),
            "words_per_sentence-.* has 20 bytes instead of 16",
        ),
        (lambda folder: data_file(folder, "word_ids").unlink(), "No such file"),
        (lambda folder: with_starts(folder, [2], 2**40), "the starts of its documents"),
        # Their differences overflow.
        (
            lambda folder: with_starts(folder, [1, 2, 3], [[2**62], [-(2**63)], [-(2**62)]]),
            "the starts of its documents",
        ),
        (a_pipe, "is no file"),
        (elsewhere, "wrong or missing entry"),
        (description(b""), "documents.json is no JSON"),
        (description(b"[" * 60_000), "documents.json is no JSON"),
        (description(b" " * 70_000), "documents.json is no description"),
        (lambda folder: described(folder, documents=2**59), "checksums-.* has 12 bytes"),
    ],
)
def test_a_damaged_folder_is_refused_with_the_repair(
    folder: Path, damage: Callable[[Path], object], why: str
) -> None:
    damage(folder)
    with pytest.raises(ValueError, match=rf"(?s)are damaged: .*{why}.*Write it again with"):
        DocumentArray.open(folder)


@pytest.mark.parametrize(
    "entry", [{"words": None}, {"words": -1}, {"words": "7"}, {"files": [1]}, {"highest_id": 0}]
)
def test_a_wrong_entry_of_the_description_is_damage(folder: Path, entry: dict[str, Any]) -> None:
    described(folder, **entry)
    with pytest.raises(ValueError, match=r"are damaged: .*wrong or missing entry.*Write it again"):
        DocumentArray.open(folder)


def test_a_folder_of_another_kind_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        DocumentArray.open(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="is a file; documents are stored in a folder"):
        DocumentArray.open(folder / "documents.json")
    with pytest.raises(FileNotFoundError, match=r"holds no documents.*Write it again"):
        DocumentArray.open(tmp_path)
    (tmp_path / "documents.json").write_text('{"kind": "recipes"}')
    with pytest.raises(ValueError, match="was not written by sk_han"):
        DocumentArray.open(tmp_path)
    described(folder, format=99)
    with pytest.raises(ValueError, match=r"format 99, and this release.*install a newer sk_han"):
        DocumentArray.open(folder)


@pytest.mark.parametrize(
    ("name", "numbers", "why"),
    [
        ("word_ids", [0, 3, 4, 5, 2, 2, 7], "ids outside of 1 to 7"),
        ("word_ids", [8, 3, 4, 5, 2, 2, 7], "ids outside of 1 to 7"),
        ("words_per_sentence", [0, 3, 3, 1], "a sentence without a word"),
        ("words_per_sentence", [2, 2, 3, 1], "sentences are not as long as its documents"),
    ],
)
@pytest.mark.parametrize("when", ["before it is opened", "before it is read", "when it is read"])
def test_what_only_reading_shows_is_told_when_it_is_read(
    folder: Path, name: str, numbers: list[int], why: str, when: str
) -> None:
    opened = DocumentArray.open(folder)
    if when == "when it is read":
        opened.in_memory()  # checksums are compared once
    np.array(numbers, "<i4").tofile(data_file(folder, name))
    if when == "before it is opened":
        sealed(folder)
        opened = DocumentArray.open(folder)
    elif when == "before it is read":
        why = "bytes 0 to .* are not those that were written"
    with pytest.raises(ValueError, match=rf"are damaged: .*{why}"):
        opened.in_memory()
    with pytest.raises(ValueError, match="are damaged"):
        opened.save(folder.parent / "copy")
    assert not (folder.parent / "copy").exists()


def opened_as(folder: Path, expected: Any) -> bool:
    """Whether a folder opens, and holds these documents and no others."""
    try:
        found = DocumentArray.open(folder).to_nested()
    except (OSError, ValueError):
        return False
    assert found == expected
    return True


def test_a_flipped_bit_is_never_read_as_other_words(folder: Path) -> None:
    n_opened = 0
    for path in folder.iterdir():
        whole = path.read_bytes()
        for position in range(len(whole)):
            content = bytearray(whole)
            content[position] ^= 1 << position % 8
            path.write_bytes(content)
            n_opened += opened_as(folder, IN_MEMORY.to_nested())
        path.write_bytes(whole)
    assert n_opened < 30  # white space of the description
    assert opened_as(folder, IN_MEMORY.to_nested())


def test_a_flipped_bit_is_found_in_the_block_that_is_read(tmp_path: Path) -> None:
    n_words = 3 * BLOCK // 4 + 105  # in four blocks
    starts = np.append(np.arange(0, n_words, 50), n_words)
    documents = DocumentArray(
        np.arange(1, n_words + 1, dtype=np.int32), starts, np.arange(len(starts))
    )
    documents.save(tmp_path / "documents")
    path = data_file(tmp_path / "documents", "word_ids")
    content = bytearray(path.read_bytes())
    content[2 * BLOCK + 1000] ^= 1
    path.write_bytes(content)
    opened = DocumentArray.open(tmp_path / "documents")
    in_first_blocks = slice(0, 2 * BLOCK // 200 - 1)
    assert opened[in_first_blocks].to_nested() == documents[in_first_blocks].to_nested()
    assert opened[-1:].to_nested() == documents[-1:].to_nested()
    message = rf"word_ids-.*: bytes {2 * BLOCK:,} to {3 * BLOCK:,} are not those that were written"
    with pytest.raises(ValueError, match=message):
        opened[-400:].in_memory()


@pytest.mark.parametrize("n_bytes", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize("at_once", [1000, BLOCK, 10**6])
def test_checksums_do_not_depend_on_how_much_is_written_at_once(n_bytes: int, at_once: int) -> None:
    data = memoryview(np.random.default_rng(0).bytes(n_bytes))
    checksums = BlockChecksums()
    for start in range(0, n_bytes, at_once):
        checksums.update(data[start : start + at_once])
    expected = [zlib.crc32(data[start : start + BLOCK]) for start in range(0, n_bytes, BLOCK)]
    assert checksums.values().tolist() == expected


def test_a_file_that_is_cut_off_while_it_is_open_is_an_error_and_no_crash(folder: Path) -> None:
    opened = DocumentArray.open(folder)
    cut_off(folder)
    with pytest.raises(ValueError, match="has become shorter since it was opened"):
        opened.in_memory()


def test_threads_read_one_file_at_the_same_time(tmp_path: Path) -> None:
    ids = np.arange(1, 50_001, dtype=np.int32)
    starts = np.arange(0, 50_001, 5)
    documents = DocumentArray(ids, starts, np.arange(len(starts)))
    documents.save(tmp_path / "documents")
    opened = DocumentArray.open(tmp_path / "documents")
    chosen = np.random.default_rng(0).integers(10_000, size=(200, 64))

    def is_read(rows: np.ndarray) -> bool:
        return np.array_equal(opened[rows].word_ids, documents[rows].word_ids)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(is_read, chosen))


@pytest.mark.parametrize("is_new", [False, True])
def test_an_interrupt_behind_the_last_step_keeps_the_new_documents(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    @contextmanager
    def interrupted(path: Path, **options: Any) -> Iterator[Any]:
        with replacing(path, **options) as file:
            yield file
        raise KeyboardInterrupt

    path = tmp_path / "new" if is_new else folder
    monkeypatch.setattr("sk_han.documents.folder.replacing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        OTHERS.save(path, overwrite=True)
    assert DocumentArray.open(path).to_nested() == OTHERS.to_nested()
    assert len(list(path.iterdir())) == 5


@pytest.mark.parametrize("has_links", [True, False])
def test_of_two_writers_without_overwrite_the_second_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    def no_link(*_: Any) -> None:
        raise PermissionError("this file system has no links")

    if not has_links:
        monkeypatch.setattr("os.link", no_link)
    path = folder.with_name("raced")

    def race() -> None:
        with writing(path, overwrite=False) as writer:
            writer.append(IN_MEMORY)
            OTHERS.save(path)

    with pytest.raises(FileExistsError, match="holds documents already"):
        race()
    assert DocumentArray.open(path).to_nested() == OTHERS.to_nested()
    assert len(list(path.iterdir())) == 5


def test_a_deep_copy_reads_on_when_the_folder_holds_others(folder: Path) -> None:
    opened = DocumentArray.open(folder)
    OTHERS.save(folder, overwrite=True)
    assert copy.deepcopy(opened).to_nested() == opened.to_nested() == IN_MEMORY.to_nested()
