"""Check the result of `predict` against the signature, and write it as tensors."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

from .errors import BadResult, InvalidItem, one_line, text_of
from .signature import Tensor
from .tensors import datatype_of, is_array, join_elements, numpy_dtype, to_json


class RowError(NamedTuple):
    code: str
    message: str


# The shape and the data, as a view of single bytes. A later error of the same row replaces the earlier one.
Written = Tuple[List[int], Any]
RowErrors = Dict[int, RowError]


def row_error(error: BaseException) -> RowError:
    if isinstance(error, InvalidItem):
        return RowError("INVALID_ITEM", text_of(error))
    return RowError("HANDLER_FAILED", one_line(error))


def check_rows(count: int, rows: int) -> None:
    if count != rows:
        raise BadResult(f"returned {_count(count)} for {_count(rows)} of input: expected one result per row")


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def to_rows(value: Any) -> Any:
    """The result as a list with one element per row, for results that are not arrays."""
    if isinstance(value, (list, tuple)):
        return value
    if value is None or isinstance(value, (str, bytes, dict, int, float)) or not hasattr(value, "__iter__"):
        raise BadResult(f"returned an object of type {type(value).__name__}: expected a list or array with one result per row")
    return list(value)


class OutputWriter:
    """Writes one output. `is_guess` says that the shape is neither declared nor learned."""

    def __init__(self, tensor: Tensor, is_guess: bool = False) -> None:
        self.name = tensor.name
        self.tensor = tensor
        self.is_guess = is_guess
        self._rank = len(tensor.shape)
        self._fixed = [(axis, size) for axis, size in enumerate(tensor.shape) if size >= 0]
        if tensor.datatype == "BYTES":
            self.write = self._write_json if tensor.content == "json" else self._write_elements
        else:
            import numpy

            self._numpy = numpy
            self._dtype = numpy_dtype(tensor.datatype)
            self.write = self._write_array

    def _write_array(self, value: Any, rows: int, errors: RowErrors) -> Written:
        numpy = self._numpy
        if type(value) is not numpy.ndarray:
            value = numpy.asarray(value) if is_array(value) else self._array_of_rows(to_rows(value), rows, errors)
        if value.ndim == 0:
            raise BadResult(f"output {self.name!r} is a single value: expected one per row")
        shape = value.shape
        check_rows(shape[0], rows)
        if len(shape) != self._rank or self._fixed:
            if self.is_guess and len(shape) == 1:
                value = value.reshape(rows, 1)
            shape = value.shape
            self._check_shape(shape)
        if value.dtype != self._dtype:
            value = self._cast(value)
        # ravel() copies only an array that is not contiguous. The view has single bytes, for any shape.
        return list(shape), memoryview(value.ravel().view("u1"))

    def _check_shape(self, shape: Tuple[int, ...]) -> None:
        if len(shape) != self._rank or any(shape[axis] != size for axis, size in self._fixed):
            hint = "; give the model an `example`, from which the shape is learned" if self.is_guess else ""
            raise BadResult(f"output {self.name!r}: expected the shape {self.tensor.shape}, got {list(shape)}{hint}")

    def _cast(self, value: Any) -> Any:
        if self._numpy.can_cast(value.dtype, self._dtype, "same_kind"):
            cast = value.astype(self._dtype)
            if cast.dtype.kind not in "iu" or (cast == value).all():
                return cast
        elif value.dtype.kind in "iu" and self._dtype.kind in "iu":
            cast = value.astype(self._dtype)
            if (cast == value).all():
                return cast
        try:
            got = datatype_of(value.dtype)
        except ValueError:
            got = f"the numpy type {value.dtype}"
        raise BadResult(f"output {self.name!r}: expected {self.tensor.datatype}, got {got}, which cannot be converted safely")

    def _array_of_rows(self, value: Any, rows: int, errors: RowErrors) -> Any:
        numpy = self._numpy
        good = list(range(len(value)))
        if any(isinstance(row, BaseException) for row in value):
            check_rows(len(value), rows)
            errors.update((index, row_error(row)) for index, row in enumerate(value) if isinstance(row, BaseException))
            good = [index for index in good if index not in errors]
        try:
            array = numpy.asarray([value[index] for index in good])
        except ValueError as error:
            raise BadResult(f"output {self.name!r}: the rows do not form an array: {text_of(error)}") from None
        if len(good) == len(value):
            return array
        shape = array.shape[1:] if good else [max(size, 0) for size in self.tensor.shape[1:]]
        filled = numpy.zeros((rows, *shape), array.dtype if good else self._dtype)
        filled[good] = array if good else 0
        return filled

    def _write_json(self, value: Any, rows: int, errors: RowErrors) -> Written:
        value = value.tolist() if is_array(value) and hasattr(value, "tolist") else value
        results = to_rows(value)
        check_rows(len(results), rows)
        elements = []
        for index, result in enumerate(results):
            element = b"null"
            if isinstance(result, BaseException):
                errors[index] = row_error(result)
            else:
                try:
                    element = to_json(result)
                except Exception as error:
                    errors[index] = RowError("BAD_RESULT", f"output {self.name!r} is not JSON: {one_line(error)}")
            elements.append(element)
        return [rows], join_elements(elements)

    def _write_elements(self, value: Any, rows: int, errors: RowErrors) -> Written:
        if is_array(value):
            import numpy

            value = numpy.asarray(value).tolist()
        results = to_rows(value)
        check_rows(len(results), rows)
        written: Dict[int, List[bytes]] = {}
        shape: List[int] = []
        for index, result in enumerate(results):
            if isinstance(result, BaseException):
                errors[index] = row_error(result)
                continue
            try:
                row, row_shape = self._elements_of(result)
            except (TypeError, ValueError) as error:
                errors[index] = RowError("BAD_RESULT", f"output {self.name!r}: {text_of(error)}")
                continue
            written[index] = row
            if row_shape != shape and len(written) > 1:
                raise BadResult(f"output {self.name!r}: the rows have different shapes, {shape} and {row_shape}")
            shape = row_shape
        if written:
            self._check_shape((rows, *shape))
        else:
            shape = [max(size, 0) for size in self.tensor.shape[1:]]
        count = 1
        for size in shape:
            count *= size
        failed = [b""] * count
        return [rows, *shape], join_elements(item for index in range(rows) for item in written.get(index, failed))

    def _elements_of(self, row: Any) -> Tuple[List[bytes], List[int]]:
        shape: List[int] = []
        items = [row]
        while len(shape) < self._rank - 1:
            if not all(isinstance(item, (list, tuple)) and len(item) == len(items[0]) for item in items):
                raise ValueError(f"expected the shape {self.tensor.shape}")
            shape.append(len(items[0]) if items else 0)
            items = [nested for item in items for nested in item]
        for item in items:
            if not isinstance(item, (str, bytes)):
                raise TypeError(f"expected str or bytes, got {type(item).__name__}")
        return [item if isinstance(item, bytes) else item.encode() for item in items], shape
