"""Datatypes of the Open Inference Protocol and their bytes. Imports numpy only for tensors of numbers."""
from __future__ import annotations

import dataclasses
import json
import struct
from typing import Any, Iterable, List

from .errors import BadResult, ProtocolError

# The numpy type code of each datatype. The data is little-endian.
NUMPY_CODES = {
    "BOOL": "?",
    "UINT8": "u1",
    "UINT16": "u2",
    "UINT32": "u4",
    "UINT64": "u8",
    "INT8": "i1",
    "INT16": "i2",
    "INT32": "i4",
    "INT64": "i8",
    "FP16": "f2",
    "FP32": "f4",
    "FP64": "f8",
}

# Bytes per element; 0 is the variable size of BYTES.
ELEMENT_BYTES = {"BYTES": 0, "BOOL": 1, **{name: int(code[1:]) for name, code in NUMPY_CODES.items() if code != "?"}}

_LENGTH = struct.Struct("<I")


def numpy_dtype(datatype: str) -> Any:
    import numpy

    return numpy.dtype("<" + NUMPY_CODES[datatype])


def datatype_of(dtype: Any) -> str:
    """The datatype of anything that numpy accepts as a dtype."""
    import numpy

    found = numpy.dtype(dtype)
    if found.kind in "USOT":
        return "BYTES"
    for name, code in NUMPY_CODES.items():
        if found.newbyteorder("<") == numpy.dtype("<" + code):
            return name
    raise ValueError(f"the dtype {found} has no datatype: expected one of {', '.join(ELEMENT_BYTES)}")


def is_array(value: Any) -> bool:
    """Whether the value is a numpy array or converts itself to one (torch, pandas, jax)."""
    return hasattr(value, "__array__") and not isinstance(value, type)


def values_of(array: Any) -> Any:
    """An array as Python values: a list, or one value if it has no dimension."""
    if hasattr(array, "tolist"):
        return array.tolist()
    import numpy

    return numpy.asarray(array).tolist()


def records_of(array: Any) -> Any:
    """As `values_of`, but a DataFrame of pandas or polars is a list with one dict per row."""
    if not hasattr(array, "columns"):
        return values_of(array)
    if len(set(array.columns)) != len(array.columns):
        raise BadResult("returned a DataFrame with two columns of the same name")
    return array.to_dicts() if hasattr(array, "to_dicts") else array.to_dict("records")


def split_elements(buffer: bytearray, offset: int, length: int, count: int) -> List[bytes]:
    """The elements of a BYTES tensor."""
    elements = []
    end = offset + length
    view = memoryview(buffer)
    try:
        for _ in range(count):
            start = offset + 4
            offset = start + _LENGTH.unpack_from(buffer, offset)[0]
            elements.append(bytes(view[start:offset]))
    except struct.error:
        offset = end + 1
    if offset != end:
        raise ProtocolError(f"a BYTES tensor of {count} elements does not fill its {length} bytes exactly")
    return elements


def join_elements(elements: Iterable[bytes]) -> bytes:
    """The data of a BYTES tensor."""
    parts = []
    for element in elements:
        parts.append(_LENGTH.pack(len(element)))
        parts.append(element)
    return b"".join(parts)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"an object of type {type(value).__name__} has no JSON form")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode


def to_json(value: Any) -> bytes:
    """The JSON text of a value: numpy values and dataclasses as plain ones, no NaN and no Infinity."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return _encode_ascii(value).encode()  # a lone surrogate, which a JSON text may have as `\\ud800`
