"""Reads arrays of vectors (N, F): NumPy's .npy and .npz, and .safetensors, in parts.

They have no file names, so a list of names goes with them, or the rows are in the order of the
images. Nothing is unpickled.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from app.core.zips import UNREADABLE, opened, unreadable_reason
from app.features.vector_files import (
    LARGEST,
    BadFeatureTable,
    VectorFile,
    VectorRow,
    check_n_columns,
    read_csv,
)

SUFFIXES = (".csv", ".npy", ".npz", ".safetensors")
PIECE_BYTES = 2**22
MOST_HEADER_BYTES = 2**20
_SAFETENSORS = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1", "U8": "u1", "I16": "<i2",
    "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
}  # fmt: skip
_NAMES = ("filenames", "filename", "names")
MOST_MEMBERS = 1_000
# What reading a damaged or crafted file raises. RuntimeError: its members are encrypted, or its
# header is nested too deep.
_UNREADABLE = (*UNREADABLE, KeyError, TypeError, IndexError, RuntimeError)


@dataclass(frozen=True)
class _Array:
    """An array in a file whose next bytes are its values, row by row."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    file: IO[bytes]


def read_vectors(filename: str, file: BinaryIO, names: list[str] | None) -> VectorFile:
    """Read a file of vectors by its suffix. names: of the rows, if the file has none.

    Raises BadFeatureTable, also while rows are read.
    """
    suffix = filename.lower().rpartition(".")[2]
    if suffix == "csv":
        if names is not None:
            raise BadFeatureTable(
                "A CSV names its images in the column 'filename'. Upload it without a list of "
                "file names."
            )
        return read_csv(file)
    read = _READERS.get(suffix)
    if read is None:
        raise BadFeatureTable(
            f"{filename[:100]!r} is not a file of features. Upload one of: {', '.join(SUFFIXES)}."
        )
    try:
        array, own_names = read(file)
    except _UNREADABLE as error:
        raise _unreadable(filename, error) from error
    return _in_rows(filename, array, names if names is not None else own_names)


def _unreadable(filename: str, error: Exception) -> BadFeatureTable:
    return BadFeatureTable(f"{filename[:100]!r} cannot be read: {unreadable_reason(error)}.")


def _in_rows(filename: str, array: _Array, names: list[str] | None) -> VectorFile:
    if len(array.shape) != 2 or not prod(array.shape):
        raise BadFeatureTable(
            f"The array has the shape {array.shape}. It must be (N, F): one row for each image, "
            "one column for each number."
        )
    n, width = array.shape
    check_n_columns(width)
    if array.dtype.kind not in "biuf":
        raise BadFeatureTable(f"The array contains {array.dtype}. It must contain real numbers.")
    if names is not None and len(names) != n:
        raise BadFeatureTable(
            f"The array has {n:,} rows, and the list has {len(names):,} file names. There must be "
            "one name for each row, in the same order."
        )
    columns = [f"feature_{number}" for number in range(width)]
    return VectorFile(columns, _array_rows(filename, array, names), n)


def _array_rows(filename: str, array: _Array, names: list[str] | None) -> Iterator[VectorRow]:
    n, width = array.shape
    row_bytes = width * array.dtype.itemsize
    at_once = max(1, PIECE_BYTES // row_bytes)
    for start in range(0, n, at_once):
        count = min(at_once, n - start)
        try:
            data = array.file.read(count * row_bytes)
        except _UNREADABLE as error:
            raise _unreadable(filename, error) from error
        if len(data) != count * row_bytes:
            raise BadFeatureTable(
                f"The file ends before row {start + len(data) // row_bytes} of {n:,}: it was cut "
                "off. Save and upload it again."
            )
        part = np.frombuffer(data, array.dtype).reshape(count, width)
        for offset, values in enumerate(_checked(part, start)):
            row = start + offset
            where = f"Row {row}"
            if names is None:
                yield VectorRow(where, values, position=row)
            else:
                yield VectorRow(where, values, names[row])


def _checked(part: NDArray[Any], start: int) -> NDArray[np.float32]:
    values = part.astype(np.float64)
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise BadFeatureTable(
            f"Row {start + row}, column {column} contains {part[row, column]}. Numbers must be "
            "finite and at most 3e38; leave out the row, with a list of file names, if the "
            "features of an image are not known."
        )
    return values.astype(np.float32)


def _npy(file: IO[bytes]) -> tuple[_Array, None]:
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran_order, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it contains Python objects, which are never loaded")
    if fortran_order and len(shape) > 1 and min(shape) > 1:
        raise ValueError("it is stored column by column; save numpy.ascontiguousarray(array)")
    return _Array(tuple(shape), dtype, file), None


def _npz(file: IO[bytes]) -> tuple[_Array, list[str] | None]:
    archive = opened(file, MOST_MEMBERS)
    names: list[str] | None = None
    tables = []
    for member in archive.namelist():
        key = member.removesuffix(".npy")
        array, _ = _npy(archive.open(member))
        if key in _NAMES:
            names = _texts(array)
        elif len(array.shape) == 2:
            tables.append(member)
    if len(tables) != 1:
        raise ValueError(f"it must have one array (N, F), and it has {len(tables)}")
    return _npy(archive.open(tables[0]))[0], names


def _texts(array: _Array) -> list[str]:
    if array.dtype.kind != "U" or len(array.shape) != 1:
        raise ValueError("its file names are not a list of texts")
    size = array.dtype.itemsize * array.shape[0]
    if size > 64 * 2**20:
        raise ValueError("its file names are too long")
    return [str(name) for name in np.frombuffer(array.file.read(size), array.dtype)]


def _safetensors(file: IO[bytes]) -> tuple[_Array, list[str] | None]:
    size = int.from_bytes(file.read(8), "little")
    if not 2 <= size <= MOST_HEADER_BYTES:
        raise ValueError("its header is damaged")
    header = json.loads(file.read(size))
    if not isinstance(header, dict):
        raise ValueError("its header is damaged")
    tables = [
        tensor
        for name, tensor in header.items()
        if name != "__metadata__" and len(tensor["shape"]) == 2
    ]
    if len(tables) != 1:
        raise ValueError(f"it must have one tensor (N, F), and it has {len(tables)}")
    [table] = tables
    if table["dtype"] not in _SAFETENSORS:
        raise ValueError(f"its tensor contains {table['dtype']}; save float32")
    dtype, start = np.dtype(_SAFETENSORS[table["dtype"]]), int(table["data_offsets"][0])
    if start < 0:
        raise ValueError("its header is damaged")
    file.seek(8 + size + start)
    shape = tuple(int(length) for length in table["shape"])
    if min(shape) < 0:
        raise ValueError("its header is damaged")
    return _Array(shape, dtype, file), None


_READERS: dict[str, Callable[[IO[bytes]], tuple[_Array, list[str] | None]]] = {
    "npy": _npy,
    "npz": _npz,
    "safetensors": _safetensors,
}
