"""Documents in a folder: three files of integers, and a description that makes them valid.

A fourth file has the checksums of their blocks, and the description those of the fourth file and of
itself, so that a changed bit is found wherever it is, when it is first read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray
from sk_han.documents.checks import LARGEST_ID, UNKNOWN_ID
from sk_han.documents.integer_file import BlockChecksums, IntegerFile, n_blocks
from sk_han.documents.offsets import starts_of
from sk_han.utils.atomic_write import replacing
from sk_han.utils.signals import from_signal

FORMAT_VERSION = 1

_DESCRIPTION = "documents.json"
_KIND = "documents of sk_han"
_LONGEST_DESCRIPTION = 1 << 16  # bytes
# Bytes in the order of almost all processors. A vocabulary of more than 65,535 words is usual, so
# ids of two bytes would be of use to few.
_TYPES = {"word_ids": "<i4", "words_per_sentence": "<i4", "document_starts": "<i8"}
_CHECKSUMS = "checksums"
_FILES = (*_TYPES, _CHECKSUMS)
_NAME = re.compile(rf"({'|'.join(_FILES)})-[0-9a-f]{{16}}\.bin")
_UNFINISHED = re.compile(r"\.sk_han-[0-9a-f]{16}-[0-9a-f]{16}\.tmp")  # of the description
_REPAIR = (
    "Write it again with DocumentArray.save(..., overwrite=True) or "
    "HierarchicalTokenizer.transform(..., out=)."
)
_DIGEST, _IDS_AT_ONCE = 16, 1 << 22  # bytes
_ABANDONED_AFTER = 24 * 3600  # seconds; a younger file may belong to a process that writes


@dataclass(frozen=True)
class DocumentFolder:
    """An open folder of D documents: a source of `LazyDocuments`."""

    path: str  # absolute
    fingerprint: str  # of the contents
    highest_id: int
    starts: NDArray[np.int64]  # (D + 1, 2): first sentence and first word, at the end their numbers
    word_ids: IntegerFile
    words_per_sentence: IntegerFile

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> DocumentFolder:
        """Open a folder, and check its description, its sizes and its numbers of documents."""
        found = _described(folder)
        while True:
            try:
                return cls._of_files(folder, found)
            except FileNotFoundError as error:
                before, found = found, _described(folder)
                if found == before:
                    raise _damaged(folder, str(error)) from error
                # Another process has replaced the documents meanwhile.
            except ValueError as error:
                raise _damaged(folder, str(error)) from error

    @classmethod
    def _of_files(cls, folder: str | os.PathLike[str], found: dict[str, Any]) -> DocumentFolder:
        """Open the files that a description names; a ValueError says what is wrong with them."""
        paths = {name: os.path.join(folder, file) for name, file in found["files"].items()}
        lengths = {
            "word_ids": found["words"],
            "words_per_sentence": found["sentences"],
            "document_starts": 2 * (found["documents"] + 1),
        }
        checksums = _checksums(paths[_CHECKSUMS], lengths, found["checksums"])
        with ExitStack() as opened:
            files = {}
            for name, dtype in _TYPES.items():
                files[name] = IntegerFile(paths[name], dtype, lengths[name], checksums[name])
                opened.callback(files[name].close)
            starts = files["document_starts"].read_all().astype(np.int64).reshape(-1, 2)
            _check_document_starts(starts, [found["sentences"], found["words"]])
            files["document_starts"].close()
            opened.pop_all()
        return cls(
            os.path.abspath(folder),
            found["fingerprint"],
            found["highest_id"],
            starts,
            files["word_ids"],
            files["words_per_sentence"],
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many sentences and words documents have, (n, 2)."""
        return self.starts[rows + 1] - self.starts[rows]

    def read(self, rows: NDArray[np.int64]) -> DocumentArray:
        """Read documents, and check what was read."""
        try:
            return self._read(self.starts[rows], self.starts[rows + 1])
        except (OSError, ValueError) as error:
            if from_signal(error):
                raise
            raise _damaged(self.path, str(error)) from error

    def _read(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> DocumentArray:
        """Read documents between starts and ends (n, 2); a ValueError says what is wrong."""
        lengths = self.words_per_sentence.read(first[:, 0], last[:, 0]).astype(np.int64)
        ids = self.word_ids.read(first[:, 1], last[:, 1])
        sentence_starts, document_starts = starts_of(lengths), starts_of(last[:, 0] - first[:, 0])
        # Ids go to compiled code, which does not check them; files may change while they are open.
        if len(ids) and not UNKNOWN_ID <= ids.min() <= ids.max() <= self.highest_id:
            raise ValueError(f"it has ids outside of {UNKNOWN_ID} to {self.highest_id}")
        if len(lengths) and lengths.min() < 1:
            raise ValueError("it has a sentence without a word")
        word_starts = starts_of(last[:, 1] - first[:, 1])
        if not np.array_equal(sentence_starts[document_starts], word_starts):
            raise ValueError("its sentences are not as long as its documents")
        return DocumentArray._checked(
            ids.astype(np.int32, copy=False), sentence_starts, document_starts
        )

    def __deepcopy__(self, memo: Any) -> DocumentFolder:
        return self  # nothing changes it

    def __reduce__(self) -> Any:
        return _reopened, (self.path, self.fingerprint)


def _reopened(path: str, fingerprint: str) -> DocumentFolder:
    """Open the folder of a pickle again."""
    found = DocumentFolder.open(path)
    if found.fingerprint != fingerprint:
        raise ValueError(
            f"{path} holds other documents now than when the DocumentArray was pickled. Open the "
            "folder anew, or write the earlier documents to it again."
        )
    return found


@contextmanager
def writing(folder: str | os.PathLike[str], *, overwrite: bool) -> Iterator[FolderWriter]:
    """Write documents to a folder, which is whole when the block ends without an error."""
    path = Path(os.path.abspath(folder))
    is_new = _prepared(path, overwrite)
    token = secrets.token_hex(8)
    names = {name: f"{name}-{token}.bin" for name in _FILES}
    replaced: set[str] = set()
    try:
        with ExitStack() as opened:
            files = {name: opened.enter_context(open(path / names[name], "x+b")) for name in _FILES}
            writer = FolderWriter(files)
            yield writer
            written = writer.description() | {"files": names}
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        replaced = _data_files(path) - set(names.values())
        written["sha256"] = _seal(written)
        try:
            with replacing(path / _DESCRIPTION, overwrite=overwrite) as description:
                description.write(json.dumps(written, indent=1).encode())
        except FileExistsError:
            raise _taken(path) from None
    except BaseException:
        is_whole = False
        with suppress(OSError, ValueError):
            is_whole = _described(path)["files"] == names
        if is_whole:  # the interrupt came behind the last step
            _delete(path, replaced)
            raise
        _delete(path, names.values())
        if is_new:
            with suppress(OSError):
                path.rmdir()
        raise
    _delete(path, replaced)


class FolderWriter:
    """Appends documents to files, and counts."""

    def __init__(self, files: Mapping[str, BinaryIO]) -> None:
        self._files = files
        self._hashes = {name: hashlib.blake2b(digest_size=_DIGEST) for name in _TYPES}
        self._checksums = {name: BlockChecksums() for name in _TYPES}
        self._n_documents, self._end, self._highest = 0, np.zeros(2, dtype=np.int64), UNKNOWN_ID
        self._write("document_starts", self._end)

    def append(self, documents: DocumentArray) -> None:
        """Write documents behind those that are there."""
        ends = np.column_stack([documents.document_starts[1:], documents.word_starts[1:]])
        self._write("word_ids", documents.word_ids)
        self._write("words_per_sentence", documents.words_per_sentence)
        self._write("document_starts", self._end + ends)
        self._n_documents += len(documents)
        self._end += (documents.n_sentences, documents.n_words)
        self._highest = max(self._highest, int(documents.word_ids.max(initial=UNKNOWN_ID)))

    def replace_ids(self, ids: NDArray[np.int32]) -> None:
        """Replace each id that was written by ``ids[id]``."""
        file = self._files["word_ids"]
        file.flush()
        self._hashes["word_ids"] = hashlib.blake2b(digest_size=_DIGEST)
        self._checksums["word_ids"] = BlockChecksums()
        self._highest = UNKNOWN_ID
        for start in range(0, 4 * int(self._end[1]), _IDS_AT_ONCE):
            file.seek(start)
            replaced = ids[np.frombuffer(file.read(_IDS_AT_ONCE), _TYPES["word_ids"])]
            file.seek(start)
            self._write("word_ids", replaced)
            self._highest = max(self._highest, int(replaced.max()))

    def description(self) -> dict[str, Any]:
        """Write the checksums; return what the description holds, but for names of files."""
        sums = np.concatenate([self._checksums[name].values() for name in _TYPES])
        data = sums.astype("<u4").tobytes()
        self._files[_CHECKSUMS].write(data)
        digests = "".join(self._hashes[name].hexdigest() for name in _TYPES)
        return {
            "kind": _KIND,
            "format": FORMAT_VERSION,
            "documents": self._n_documents,
            "sentences": int(self._end[0]),
            "words": int(self._end[1]),
            "highest_id": self._highest,
            "fingerprint": hashlib.sha256(digests.encode()).hexdigest()[:32],
            "checksums": zlib.crc32(data),
        }

    def _write(self, name: str, values: NDArray[Any]) -> None:
        data = np.ascontiguousarray(values, dtype=_TYPES[name]).reshape(-1).view(np.uint8).data
        self._hashes[name].update(data)
        self._checksums[name].update(data)
        self._files[name].write(data)


def _prepared(path: Path, overwrite: bool) -> bool:
    """Make the folder or check the one that is there; return whether it is new."""
    try:
        path.mkdir()
        return True
    except FileExistsError:
        if not path.is_dir():
            raise FileExistsError(f"{path} is a file; give the name of a folder.") from None
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"There is no folder {path.parent}; make it first, for example with "
            f"os.makedirs({str(path.parent)!r})."
        ) from None
    present = sorted(os.listdir(path))
    foreign = [name for name in present if not _is_ours(name)]
    if foreign:
        raise FileExistsError(
            f"{path} holds other files than documents, such as {foreign[0]!r}; give the name of a "
            "new folder."
        )
    if not overwrite and (path / _DESCRIPTION).exists():
        raise _taken(path)
    return False


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(
        f"{path} holds documents already. Give another name, or replace them with overwrite=True."
    )


def _is_ours(name: str) -> bool:
    return name == _DESCRIPTION or bool(_NAME.fullmatch(name) or _UNFINISHED.fullmatch(name))


def _data_files(path: Path) -> set[str]:
    """Return the names of files that the next documents replace, and of those left a day ago.

    A younger file that no description names may belong to a process that writes here too.
    """
    found: set[str] = set()
    with suppress(OSError, ValueError):
        found.update(_described(path)["files"].values())
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            is_old = time.time() - entry.stat().st_mtime > _ABANDONED_AFTER
            if is_old and _NAME.fullmatch(entry.name):
                found.add(entry.name)
    return found


def _delete(path: Path, names: Iterable[str]) -> None:
    for name in names:
        with suppress(OSError):
            (path / name).unlink(missing_ok=True)


def _described(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and check the description of a folder."""
    path = Path(folder)
    if not path.exists():
        raise FileNotFoundError(f"There is no folder {path}.")
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is a file; documents are stored in a folder. {_REPAIR}")
    file = path / _DESCRIPTION
    if not file.exists():
        raise FileNotFoundError(
            f"{path} holds no documents, or their writing was interrupted: {_DESCRIPTION}, which "
            f"is written last, is not there. {_REPAIR}"
        )
    if not stat.S_ISREG(file.stat().st_mode) or file.stat().st_size > _LONGEST_DESCRIPTION:
        raise _damaged(path, f"{_DESCRIPTION} is no description")
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"{_DESCRIPTION} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise ValueError(
            f"{path} was not written by sk_han: {_DESCRIPTION} describes something else. {_REPAIR}"
        )
    version = found.get("format")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format {version}, and this release of sk_han reads formats up to "
            f"{FORMAT_VERSION}: install a newer sk_han."
        )
    numbers = ("documents", "sentences", "words", "highest_id", "checksums")
    counts = [found.get(name) for name in numbers]
    files, fingerprint = found.get("files"), found.get("fingerprint")
    valid = (
        version == FORMAT_VERSION
        and all(type(n) is int and 0 <= n < 1 << 60 for n in counts)
        and UNKNOWN_ID <= found["highest_id"] <= LARGEST_ID
        and isinstance(fingerprint, str)
        and isinstance(files, dict)
        and files.keys() == set(_FILES)
        and all(isinstance(file, str) for file in files.values())
        and all((match := _NAME.fullmatch(files[n])) and match[1] == n for n in _FILES)
        and found.get("sha256") == _seal(found)
    )
    if not valid:
        raise _damaged(path, f"{_DESCRIPTION} has a wrong or missing entry")
    return found


def _seal(description: Mapping[str, Any]) -> str:
    """Return the checksum of the other entries of a description."""
    others = {name: value for name, value in description.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _checksums(
    path: str, lengths: Mapping[str, int], expected: int
) -> dict[str, NDArray[np.uint32]]:
    """Read the checksums of the blocks of each file."""
    numbers = [n_blocks(lengths[name] * np.dtype(dtype).itemsize) for name, dtype in _TYPES.items()]
    file = IntegerFile(path, "<u4", sum(numbers))
    sums = file.read_all()
    file.close()
    if zlib.crc32(sums.tobytes()) != expected:
        raise ValueError(f"{os.path.basename(path)} has other bytes than were written")
    ends = np.cumsum(numbers)[:-1]
    of_files = np.split(sums.astype(np.uint32), ends)
    return dict(zip(_TYPES, of_files, strict=True))


def _check_document_starts(starts: NDArray[np.int64], ends: list[int]) -> None:
    lengths = np.diff(starts, axis=0)
    if (
        starts[0].any()
        or np.any((starts < 0) | (starts > starts[-1]))  # whose differences may overflow
        or starts[-1].tolist() != ends
        or np.any(lengths < 0)
        or np.any(lengths[:, 0] > lengths[:, 1])
    ):
        raise ValueError("the starts of its documents do not rise to its numbers of words")


def _damaged(folder: str | os.PathLike[str], why: str) -> ValueError:
    return ValueError(f"The documents in {os.fspath(folder)} are damaged: {why}. {_REPAIR}")
