"""Dictionaries of identifiers that key columns share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import DENSE_SPAN, factorize, factorize_keys, remap
from hornboost.data.values import to_text

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 64
"""Values that are fewer than the domain by this factor are looked up one by one."""


@dataclass(frozen=True, eq=False)
class Domain:
    """The distinct identifiers of a set of key columns: code `c` stands for `values[c]` (int64 or text)."""

    name: str
    values: pa.Array

    @property
    def size(self) -> int:
        """The number of identifiers."""
        return len(self.values)

    @classmethod
    def merge(
        cls, name: str, parts: Sequence[tuple[NDArray[np.int32], pa.Array]]
    ) -> tuple[Domain, list[NDArray[np.int32]]]:
        """One dictionary over what `factorize_keys` found in several columns, and each column's codes into it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        distinct = [values for _, values in parts]
        if all(values.type == pa.int64() for values in distinct):
            chunks = [part.drop_null() for part in distinct]
            values = factorize(pa.chunked_array(chunks))[1] if len(chunks) > 1 else chunks[0]
        else:
            distinct = [to_text(values) for values in distinct]
            values = pc.unique(pa.chunked_array(distinct, type=pa.string())).drop_null()
        codes = []
        for (column, original), own in zip(parts, distinct, strict=True):
            same = len(own) == len(original) and own.equals(values)
            codes.append(column if same else remap(column, _index_in(own, values)))
        return cls(name, values), codes

    def encode(self, values: Any) -> NDArray[np.int32]:
        """Codes of a list or array of identifiers: -1 for null,
        distinct codes from `size` upwards for those that are unknown.

        >>> import pyarrow as pa
        >>> Domain("person", pa.array(["ann", "bob"])).encode(["bob", None, "eve", "ann", "dan", "eve"]).tolist()
        [1, -1, 2, 0, 3, 2]
        """
        import pyarrow as pa

        column = (
            values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values, from_pandas=True)])
        )
        return self.encode_together([column])[0]

    def encode_together(self, columns: Sequence[pa.ChunkedArray]) -> list[NDArray[np.int32]]:
        """Codes of several columns, an unknown identifier having the same code in each."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = [factorize_keys(column, f"the keys '{self.name}'") for column in columns]
        distinct = [values for _, values in parts]
        known = self.values
        if any(values.type != known.type for values in distinct):
            known, distinct = to_text(known), [to_text(values) for values in distinct]
        codes = [self._places(values) if known is self.values else _index_in(values, known) for values in distinct]
        if any((code < 0).any() for code in codes):
            new = [values.filter(pa.array(code < 0)) for values, code in zip(distinct, codes, strict=True)]
            unknown = pc.unique(pa.chunked_array(new, type=known.type)).drop_null()
            for values, code in zip(distinct, codes, strict=True):
                fresh = _index_in(values, unknown)
                code[fresh >= 0] = fresh[fresh >= 0] + self.size
        return [remap(column, code) for (column, _), code in zip(parts, codes, strict=True)]

    def _places(self, values: pa.Array) -> NDArray[np.int32]:
        """Codes of distinct values, -1 for unknown ones.

        A few are looked up in what is kept, since hashing the domain takes longer.
        """
        import pyarrow as pa

        if self.values.type == pa.int64() and self._dense is not None:
            return _looked_up(values, *self._dense)
        if FEW * len(values) > self.size:
            return _index_in(values, self.values)
        if self.values.type == pa.int64():
            numbers, order = self._sorted
            wanted = values.fill_null(0).to_numpy(zero_copy_only=False)
            at = order[np.minimum(np.searchsorted(numbers, wanted, sorter=order), self.size - 1)]
            return np.where((numbers[at] == wanted) & values.is_valid().to_numpy(zero_copy_only=False), at, -1).astype(
                np.int32
            )
        return np.array([self._code_of.get(value, -1) for value in values.to_pylist()], dtype=np.int32)

    @cached_property
    def _dense(self) -> tuple[int, NDArray[np.int32]] | None:
        """The smallest number, and the code of each from there on, where these are not many more than the values."""
        numbers = self.values.to_numpy()
        low, high = (int(numbers.min()), int(numbers.max())) if self.size else (0, 0)
        if high - low >= DENSE_SPAN * self.size + 1024:
            return None
        codes = np.full(high - low + 1, -1, np.int32)
        codes[numbers - low] = np.arange(self.size, dtype=np.int32)
        return low, codes

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        numbers = self.values.to_numpy()
        return numbers, np.argsort(numbers, kind="stable")

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values.to_pylist())}

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "values": self.values}

    def decode(self, codes: NDArray[np.int32]) -> pa.Array:
        """The identifiers of some codes; null for codes that stand for none."""
        import pyarrow as pa

        known = (codes >= 0) & (codes < self.size)
        return self.values.take(pa.array(np.where(known, codes, 0), mask=~known))


def _looked_up(values: pa.Array, low: int, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The codes of numbers, of which the first stands for `low`; -1 for others."""
    wanted = values.fill_null(0).to_numpy(zero_copy_only=False)
    known = (wanted >= low) & (wanted <= low + (len(codes) - 1))
    if values.null_count:
        known &= values.is_valid().to_numpy(zero_copy_only=False)
    return np.where(known, codes[np.where(known, wanted - low, 0)], np.int32(-1))


def _index_in(values: pa.Array, within: pa.Array) -> NDArray[np.int32]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(within) == 0 or len(values) == 0:
        return np.full(len(values), -1, dtype=np.int32)
    found = pc.index_in(values, value_set=within, skip_nulls=True)
    return np.array(found.fill_null(pa.scalar(-1, pa.int32())).to_numpy(zero_copy_only=False), dtype=np.int32)
