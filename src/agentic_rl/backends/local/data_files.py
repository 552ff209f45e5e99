"""Opening the data files that the checks of the configuration found sound. Needs pyarrow, not torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from agentic_rl.backends.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from agentic_rl.config.load import Loaded

TASK_COLUMNS = ("prompt", "reward_model", "data_source", "extra_info")
"""What training reads of a task; columns that a file lacks are left out."""


@dataclass(frozen=True)
class DataFile:
    """A parquet file that the configuration names."""

    key: str
    """The dotted key that names it."""
    path: str
    open: Callable[[], BinaryIO]
    """Opens what was checked, and nothing else."""

    @classmethod
    def of(cls, loaded: Loaded, key: str) -> DataFile:
        """The file that `key` of a checked configuration names.

        Raises:
            LookupError: it was loaded without looking at files.
        """
        checked = loaded.checked.get(key)
        if checked is None:
            raise LookupError(f"{key} was not checked (load with files=True); training opens checked files only")
        return cls(key, checked.path, checked.open)

    def table(self, columns: tuple[str, ...]) -> pa.Table:
        """Read those of `columns` that the file has.

        Raises:
            DataError: it can't be opened, or is not parquet.
        """
        import pyarrow.parquet as pq

        with self._readable() as file:
            opened = pq.ParquetFile(file)
            return opened.read(columns=[name for name in columns if name in opened.schema_arrow.names])

    def rows(self) -> int:
        """The number of rows, from the file's own summary.

        Raises:
            DataError: it can't be opened, or is not parquet.
        """
        import pyarrow.parquet as pq

        with self._readable() as file:
            return int(pq.read_metadata(file).num_rows)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[BinaryIO]:
        import pyarrow as pa

        try:
            with self.open() as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{self.key}: {self.path} can't be read as parquet: {reason}", "write it again") from error
