"""A parquet file as its footer describes it, and whether reading what it describes stays within bounds.

A footer can promise anything: more rows than there are, chunks beyond the end of the file, a page of gigabytes in a few
compressed bytes. pyarrow survives most of that, but not in little memory, so sizes are compared before it decodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from agentic_rl.config.artifacts.json_file import NotUsableError, size_words
from agentic_rl.config.artifacts.thrift import CompactReader, MalformedError, Struct

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FOOTER = 16 << 20
MAX_PAGE = 64 << 20
"""Bytes of one page after decompression that are still decoded; writers make pages of about a megabyte."""
MAX_VALUES = 20_000_000
"""Values of one chunk of a column that are still decoded."""
MAX_DICTIONARY = 4 << 20
MAX_REPEATED = 128 << 20
"""Bytes that the longest word of a dictionary may take in one batch of rows."""
ROWS_AT_ONCE = 1024
ROWS_OF_A_GROUP = 8192
_TAIL = 8
_HEADER_BYTES = 1 << 16
_BUFFER = 1 << 16


class OutOfBoundsError(Exception):
    """Decoding would take more memory than checking may; the file may be sound."""


class ParquetData:
    """An open parquet file. Only its footer was read so far."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the footer.

        Raises:
            NotUsableError: it is no parquet file, is cut off, or its footer contradicts itself or the file.
            OSError: it can't be read.
        """
        self._file = file
        self._size = file.seek(0, 2)
        _check_tail(file, self._size)
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._parquet = pq.ParquetFile(
                file,
                buffer_size=_BUFFER,
                pre_buffer=False,
                thrift_string_size_limit=MAX_FOOTER,
                thrift_container_size_limit=100_000,
            )
            self.schema: pa.Schema = self._parquet.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as error:
            raise NotUsableError(f"is not readable as parquet: {_first_line(error)}") from None
        self.rows = self._rows()

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(self.schema.names)

    def leaves(self, column: str, field: str = "") -> list[int]:
        """The numbers of the leaf columns below `column`, or of its one leaf that is called `field`."""
        schema = self._parquet.schema
        paths = [(number, schema.column(number).path.split(".")) for number in range(len(schema.names))]
        return [number for number, path in paths if path[0] == column and field in ("", path[-1])]

    def all_null(self, leaf: int) -> bool:
        """Whether the statistics of every part say that the leaf column is null in each of its rows."""
        import pyarrow as pa

        try:
            return self._null_by_statistics(leaf)
        except (pa.ArrowException, OSError, ValueError):  # damaged statistics say nothing
            return False

    def _null_by_statistics(self, leaf: int) -> bool:
        metadata = self._parquet.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        statistics = [(group.num_rows, group.column(leaf).statistics) for group in groups]
        return bool(groups) and all(
            found is not None and found.has_null_count and found.null_count == rows for rows, found in statistics
        )

    def batches(self, leaves: list[int], rows: int) -> Iterator[pa.RecordBatch]:
        """About `rows` rows of the leaf columns `leaves`, from row groups spread over the file, a few at a time.

        Raises:
            NotUsableError: the data contradict the footer, or can't be decoded.
            OutOfBoundsError: decoding would take too much memory.
        """
        groups = self._parquet.num_row_groups
        most = max(ROWS_OF_A_GROUP, rows // max(1, groups))
        for group in spread(groups):
            taken = 0
            for batch in self._of_group(group, leaves):
                yield batch
                taken += len(batch)
                if taken >= min(most, rows):
                    break
            rows -= taken
            if rows <= 0:
                break

    def _of_group(self, group: int, leaves: list[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        size = min(self._check_chunk(group, leaf) for leaf in leaves)
        paths = [self._parquet.schema.column(leaf).path for leaf in leaves]
        try:
            yield from self._parquet.iter_batches(size, row_groups=[group], columns=paths, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise NotUsableError(f"can't be decoded: {_first_line(error)}") from None

    def _rows(self) -> int:
        metadata = self._parquet.metadata
        groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        if min(groups, default=0) < 0 or sum(groups) != metadata.num_rows:
            raise NotUsableError(f"says that it has {metadata.num_rows} rows, but its parts have {sum(groups)}")
        return sum(groups)

    def _check_chunk(self, group: int, leaf: int) -> int:
        """The most rows to decode at once: a row can repeat the longest word of the chunk's dictionary."""
        rows = self._parquet.metadata.row_group(group)
        chunk = rows.column(leaf)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        end = start + chunk.total_compressed_size
        if not 0 < start < end <= self._size - _TAIL:
            raise NotUsableError(f"is {size_words(self._size)}, but its footer places data at byte {max(start, end)}")
        if chunk.num_values > MAX_VALUES:
            raise OutOfBoundsError(f"a part of {chunk.num_values:,} values")
        at_once = ROWS_AT_ONCE
        while start < end:
            page = self._page(start, end)
            page.compare(start, chunk.num_values, chunk.total_uncompressed_size)
            if page.is_dictionary:
                at_once = min(at_once, max(16, MAX_REPEATED // max(1, page.decompressed)))
            start += page.length
        return at_once

    def _page(self, start: int, end: int) -> _Page:
        self._file.seek(start)
        reader = CompactReader(self._file.read(min(_HEADER_BYTES, end - start)))
        try:
            return _Page.of(reader.struct(), reader)
        except MalformedError as error:
            raise NotUsableError(f"has a damaged page at byte {start}: {error}") from None


@dataclass(frozen=True)
class _Page:
    """What the header of a page says (parquet.thrift, PageHeader)."""

    is_dictionary: bool
    length: int
    """Bytes of the header and of the compressed content."""
    decompressed: int
    values: int

    @classmethod
    def of(cls, header: Struct, reader: CompactReader) -> _Page:
        """The page of a header that `reader` has just read; MalformedError where it lacks a size."""
        decompressed, compressed = header.get(2), header.get(3)
        if not isinstance(decompressed, int) or not isinstance(compressed, int) or min(decompressed, compressed) < 0:
            raise MalformedError("it has no size")
        data = header.get(5) or header.get(8)
        values = data.get(1) if isinstance(data, dict) else 0
        return cls(
            header.get(1) == 2, reader.position + compressed, decompressed, values if isinstance(values, int) else 0
        )

    def compare(self, start: int, values: int, size: int) -> None:
        """Compare the page with what the footer says about its whole part: values, and bytes after decompression."""
        if self.decompressed > size or self.values > values:
            raise NotUsableError(
                f"has a page at byte {start} of {size_words(self.decompressed)} and {self.values:,} values, but its "
                f"footer says that the whole part has {size_words(size)} and {values:,} values"
            )
        if self.decompressed > (MAX_DICTIONARY if self.is_dictionary else MAX_PAGE):
            raise OutOfBoundsError(f"a page of {size_words(self.decompressed)}")


def spread(count: int) -> list[int]:
    """The numbers below `count`, ordered so that the first few lie far from each other (van der Corput)."""
    return sorted(range(count), key=lambda number: f"{number:032b}"[::-1])


def _check_tail(file: BinaryIO, size: int) -> None:
    """Compare the length of the footer, the last thing in a parquet file, with the file.

    Raises:
        NotUsableError: there is no footer, or it can't be as long as it says.
    """
    if size == 0:
        raise NotUsableError("is empty")
    file.seek(0)
    if file.read(4) != b"PAR1":
        raise NotUsableError("is no parquet file")
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    if size < _TAIL + 4 or tail[4:] != b"PAR1":
        raise NotUsableError(f"is cut off: it has no footer at its end, byte {size}")
    footer = int.from_bytes(tail[:4], "little")
    if footer > size - _TAIL - 4:
        raise NotUsableError(f"says that its footer has {size_words(footer)}, but the file has {size_words(size)}")
    if footer > MAX_FOOTER:
        raise NotUsableError(f"has a footer of {size_words(footer)}; at most {size_words(MAX_FOOTER)} are read")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
