"""Read the tensors of a batch: numpy views of the message, or lists of str, bytes or JSON values."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Sequence

from .errors import InvalidItem, ProtocolError
from .signature import Tensor
from .tensors import ELEMENT_BYTES, is_array, join_elements, numpy_dtype, split_elements, to_json

# Called with the message buffer, the offset of the data, the tensor of the header, and a dict that
# receives the invalid rows.
Reader = Callable[[bytearray, int, Dict[str, Any], Dict[int, InvalidItem]], Any]


def make_reader(tensor: Tensor) -> Reader:
    """The function that reads this input from a message."""
    if tensor.datatype == "BYTES":
        return _elements_reader(tensor)
    from numpy import frombuffer

    dtype = numpy_dtype(tensor.datatype)
    size = ELEMENT_BYTES[tensor.datatype]

    def read_array(buffer: bytearray, offset: int, header: Dict[str, Any], invalid: Dict[int, InvalidItem]) -> Any:
        return frombuffer(buffer, dtype, header["bytes"] // size, offset).reshape(header["shape"])

    return read_array


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
                # One call for all rows. The count differs if an element is not one JSON value.
                values = json.loads(b"[" + b",".join(elements) + b"]")
                if len(values) == count:
                    return values
            except (ValueError, RecursionError):
                pass
        decode = json.loads if tensor.content == "json" else _decode_text
        per_row = count // shape[0] if shape[0] else 1
        for index, element in enumerate(elements):
            try:
                elements[index] = decode(element)
            except (ValueError, RecursionError) as error:
                kind = "JSON" if tensor.content == "json" else "UTF-8 text"
                invalid[index // per_row] = InvalidItem(f"the input {tensor.name!r} is not valid {kind}: {error}")
        return nest(elements, shape)

    return read_elements


def _decode_text(element: bytes) -> str:
    return element.decode()


def nest(elements: List[Any], shape: Sequence[int]) -> List[Any]:
    """Nested lists of this shape."""
    for dimension in reversed(shape[1:]):
        if not dimension:
            raise ProtocolError("a BYTES tensor has a dimension of 0")
        elements = [elements[index : index + dimension] for index in range(0, len(elements), dimension)]
    return elements


def write_input(tensor: Tensor, value: Any) -> Any:
    """The shape and the data of an example input."""
    if tensor.datatype != "BYTES":
        import numpy

        array = numpy.ascontiguousarray(value, numpy_dtype(tensor.datatype))
        return list(array.shape), array.tobytes()
    rows = value.tolist() if is_array(value) else list(value)
    if tensor.content == "json":
        return [len(rows)], join_elements(to_json(row) for row in rows)
    shape = [len(rows)]
    while len(shape) < len(tensor.shape):
        shape.append(len(rows[0]) if rows else 0)
        rows = [item for row in rows for item in row]
    return shape, join_elements(item if isinstance(item, bytes) else item.encode() for item in rows)
