"""The little of Thrift's compact protocol that a parquet page header needs, within bounds.

Source: the protocol's specification (thrift-compact-protocol.md) and parquet.thrift.
"""

from __future__ import annotations

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 8
Struct = dict[int, "int | Struct | None"]
"""Field id -> whole number or struct; other values are skipped and stand as None."""


class MalformedError(ValueError):
    """The bytes are no struct of the compact protocol."""


class CompactReader:
    """Reads structs from the beginning of `data`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0
        """Bytes read so far."""

    def struct(self, depth: int = 0) -> Struct:
        """The next struct.

        Raises:
            MalformedError: there is none, or it does not end within the data.
        """
        if depth > _DEEPEST:
            raise MalformedError("nested too deep")
        fields: Struct = {}
        last = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            last = last + step if step else self._integer()
            fields[last] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> int | Struct | None:
        if kind in (_TRUE, _FALSE):
            return int(kind == _TRUE)
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            self._skip_list(depth)
        else:
            self._skip({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._length(kind))
        return None

    def _length(self, kind: int) -> int:
        if kind != _BINARY:
            raise MalformedError(f"a field of kind {kind}")
        return self._unsigned()

    def _skip_list(self, depth: int) -> None:
        head = self._byte()
        count, kind = head >> 4, head & 15
        for _ in range(self._unsigned() if count == 15 else count):
            if kind in (_TRUE, _FALSE):
                self._skip(1)
            else:
                self._value(kind, depth + 1)

    def _skip(self, count: int) -> None:
        self.position += count
        if self.position > len(self._data):
            raise MalformedError("cut off")

    def _byte(self) -> int:
        self._skip(1)
        return self._data[self.position - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise MalformedError("a number of more than 64 bits")

    def _integer(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
