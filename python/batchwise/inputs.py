"""Read the tensors of a batch: numpy views of the message, or lists of str, bytes or JSON values."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Sequence

from .errors import InvalidItem
from .signature import Tensor
from .tensors import ELEMENT_BYTES, is_array, join_elements, numpy_dtype, records_of, split_elements, to_json, values_of

# Bounds the memory for a shape such as [1, 1000000000, 0], which needs no data.
MAX_EMPTY_LISTS = 1 << 20

# Called with the message buffer, the offset of the data, the tensor of the header, and a dict that
# receives the invalid rows.
Reader = Callable[[bytearray, int, Dict[str, Any], Dict[int, InvalidItem]], Any]


def make_reader(tensor: Tensor) -> Reader:
    """The function that reads this input from a message."""
    if tensor.any_datatype:
        return _any_reader(tensor)
    if tensor.datatype == "BYTES":
        return _elements_reader(tensor)
    from numpy import frombuffer

    dtype = numpy_dtype(tensor.datatype)
    size = ELEMENT_BYTES[tensor.datatype]

    def read_array(buffer: bytearray, offset: int, header: Dict[str, Any], invalid: Dict[int, InvalidItem]) -> Any:
        return frombuffer(buffer, dtype, header["bytes"] // size, offset).reshape(header["shape"])

    return read_array


def _any_reader(tensor: Tensor) -> Reader:
    """Reads arrays of the datatype that each message has."""
    import numpy

    readers: Dict[str, Reader] = {}

    def read_any(buffer: bytearray, offset: int, header: Dict[str, Any], invalid: Dict[int, InvalidItem]) -> Any:
        datatype = header["datatype"]
        if datatype not in readers:
            readers[datatype] = make_reader(Tensor(tensor.name, datatype))
        return numpy.asarray(readers[datatype](buffer, offset, header, invalid))

    return read_any


def _elements_reader(tensor: Tensor) -> Reader:
    def read_elements(buffer: bytearray, offset: int, header: Dict[str, Any], invalid: Dict[int, InvalidItem]) -> Any:
        shape = header["shape"]
        count = 1
        for dimension in shape:
            count *= dimension
        elements: List[Any] = split_elements(buffer, offset, header["bytes"], count)
        if tensor.content == "bytes":
            return nest(elements, shape)
        if tensor.content == "json":
            try:
                return _decode_together(elements)
            except (ValueError, RecursionError):
                pass  # an element is invalid: each one is decoded alone
        decode = _decode_json if tensor.content == "json" else _decode_text
        per_row = count // shape[0] if shape[0] else 1
        for index, element in enumerate(elements):
            try:
                elements[index] = decode(element)
            except (ValueError, RecursionError) as error:
                kind = "JSON" if tensor.content == "json" else "UTF-8 text"
                invalid[index // per_row] = InvalidItem(f"the input {tensor.name!r} is not valid {kind}: {error}")
                elements[index] = ""
        return nest(elements, shape)

    return read_elements


def _decode_text(element: bytes) -> str:
    return element.decode()


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value (RFC 8259, 6)")


_json_decode = json.JSONDecoder(parse_constant=_reject_constant).decode


def _decode_json(element: bytes) -> Any:
    return _json_decode(element.decode())


def _decode_together(elements: List[bytes]) -> List[Any]:
    """The JSON values of all elements in one call; ValueError if an element is not exactly one JSON value.

    The elements are texts of different clients and may have any content: `[1` and `2]` are one list if only a
    comma separates them. The separator is a random JSON string that no client knows. If each separator is parsed as
    a value of the list, at every second place, there is exactly one value between two of them.
    """
    nonce = os.urandom(8).hex()
    separator = b',"' + nonce.encode() + b'",'
    values: List[Any] = _json_decode((b"[" + separator.join(elements) + b"]").decode())
    separators = values[1::2]
    if len(values) != 2 * len(elements) - 1 or separators.count(nonce) != len(separators):
        raise ValueError("an element is not one JSON value")
    return values[::2]


def nest(elements: List[Any], shape: Sequence[int]) -> List[Any]:
    """Nested lists of this shape."""
    if 0 in shape:
        return _nest_empty(shape)
    for dimension in reversed(shape[1:]):
        elements = [elements[index : index + dimension] for index in range(0, len(elements), dimension)]
    return elements


def _nest_empty(shape: Sequence[int]) -> List[Any]:
    """As numpy: `[2, 0]` has two empty lists, `[0, 2]` none."""
    before = shape[: shape.index(0)]
    if not before:
        return []
    lists = 1
    for dimension in before:
        lists *= dimension
    if lists > MAX_EMPTY_LISTS:
        raise InvalidItem(f"an input has the shape {shape}: expected at most {MAX_EMPTY_LISTS} empty lists")
    return nest([[] for _ in range(lists)], before)


def write_input(tensor: Tensor, value: Any) -> Any:
    """The shape and the data of an example input."""
    if tensor.datatype != "BYTES":
        import numpy

        array = numpy.ascontiguousarray(value, numpy_dtype(tensor.datatype))
        return list(array.shape), array.tobytes()
    if tensor.content == "json":
        rows = records_of(value) if is_array(value) else list(value)
        return [len(rows)], join_elements(to_json(row) for row in rows)
    rows = values_of(value) if is_array(value) else list(value)
    shape = [len(rows)]
    while len(shape) < len(tensor.shape):
        shape.append(len(rows[0]) if rows else 0)
        rows = [item for row in rows for item in row]
    return shape, join_elements(item if isinstance(item, bytes) else item.encode() for item in rows)
