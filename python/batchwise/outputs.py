"""Check the result of `predict` against the signature, and write it as tensors.

A row that does not fit the signature fails alone, so that it does not fail the rows of other clients. The batch
fails only if its result has another number of rows, if no row fits, or if the rows have different shapes and no
shape is that of more than half of them.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import BadResult, InvalidItem, one_line, text_of
from .signature import Tensor
from .tensors import datatype_of, is_array, join_elements, numpy_dtype, records_of, to_json, values_of


class RowError(NamedTuple):
    code: str
    message: str
    exception: Optional[BaseException] = None  # raised by the model; its traceback goes to the log


# The datatype, the shape, and the data as a view of single bytes.
Written = Tuple[str, List[int], Any]
# By row. A later error of the same row replaces the earlier one.
RowErrors = Dict[int, RowError]
Shape = Tuple[int, ...]


def row_error(error: BaseException) -> RowError:
    if isinstance(error, InvalidItem):
        return RowError("INVALID_ITEM", text_of(error))
    return RowError("HANDLER_FAILED", one_line(error), error)


def check_rows(count: int, rows: int) -> None:
    if count != rows:
        raise BadResult(f"returned {_count(count)} for {_count(rows)} of input: expected one result per row")


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def to_rows(value: Any) -> Sequence[Any]:
    """A result that is not an array, as a sequence with one element per row."""
    if isinstance(value, (list, tuple)):
        return value
    is_unordered = isinstance(value, (Mapping, Set))
    if is_unordered or isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__len__") or not hasattr(value, "__iter__"):
        raise BadResult(f"returned an object of type {type(value).__name__}: expected a list or array with one result per row")
    return list(value)


class OutputWriter:
    """Writes one output.

    `write` receives the result, the number of rows in the batch, and the rows that were passed to `predict`.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.name = tensor.name
        self.tensor = tensor
        self._rank = len(tensor.shape)
        self._fixed = [(axis, size) for axis, size in enumerate(tensor.shape) if size >= 0]
        if tensor.datatype == "BYTES":
            self.write = self._write_json if tensor.content == "json" else self._write_elements
        else:
            import numpy

            self._numpy = numpy
            self._dtype = numpy_dtype(tensor.datatype)
            self.write = self._write_array

    def _write_array(self, value: Any, rows: int, valid: Sequence[int], errors: RowErrors) -> Written:
        numpy = self._numpy
        if type(value) is not numpy.ndarray:
            value = numpy.asarray(value) if is_array(value) else to_rows(value)
        if isinstance(value, numpy.ndarray):
            if value.ndim == 0:
                raise BadResult(f"output {self.name!r} is a single value: expected one per row")
            value = value.tolist() if value.dtype.kind == "O" else value
        check_rows(len(value), len(valid))
        array, good = None, valid
        if isinstance(value, numpy.ndarray):
            try:
                array = self._fit(value)
            except BadResult:
                pass  # some rows may fit
        if array is None:
            array, good = self._array_of_rows(value, valid, errors)
        if len(good) < rows:
            filled = numpy.zeros((rows, *array.shape[1:]), self._dtype)
            filled[list(good)] = array
            array = filled
        # ravel() copies only an array that is not contiguous. The view has single bytes, for any shape.
        return self.tensor.datatype, list(array.shape), memoryview(array.ravel().view("u1"))

    def _fit(self, array: Any) -> Any:
        """The array with the datatype of the output."""
        if len(array.shape) != self._rank or self._fixed:
            self._check_shape(array.shape)
        return array if array.dtype == self._dtype else self._cast(array)

    def _check_shape(self, shape: Shape) -> None:
        if len(shape) != self._rank or any(shape[axis] != size for axis, size in self._fixed):
            raise BadResult(f"output {self.name!r}: expected the shape {self.tensor.shape}, got {list(shape)}")

    def _cast(self, array: Any) -> Any:
        """The values in the datatype of the output. Floats are rounded; nothing else may change a value."""
        numpy = self._numpy
        why = "which cannot be converted safely"
        is_same_kind = numpy.can_cast(array.dtype, self._dtype, "same_kind")
        if is_same_kind or (array.dtype.kind in "iu" and self._dtype.kind in "iu"):
            with numpy.errstate(over="ignore", invalid="ignore"):
                cast = array.astype(self._dtype)
                if _is_lossless(array, cast, numpy):
                    return cast
            why = "with a value that would change"
        try:
            got = datatype_of(array.dtype)
        except ValueError:
            got = f"the numpy type {array.dtype}"
        raise BadResult(f"output {self.name!r}: expected {self.tensor.datatype}, got {got}, {why}")

    def _array_of_rows(self, results: Sequence[Any], valid: Sequence[int], errors: RowErrors) -> Tuple[Any, List[int]]:
        """The rows that fit, as an array, and their numbers."""
        numpy = self._numpy
        good: Dict[int, Any] = {}
        for row, result in zip(valid, results):
            if isinstance(result, BaseException):
                errors[row] = row_error(result)
            else:
                good[row] = result
        if not good:
            return numpy.zeros([0, *self._empty_shape()], self._dtype), []
        try:
            return self._fit_list(list(good.values())), list(good)
        except BadResult as error:
            batch_error = error
        arrays = {}
        for row, result in good.items():
            try:
                arrays[row] = self._fit_list([result])
            except BadResult as error:
                errors[row] = RowError("BAD_RESULT", text_of(error))
        if not arrays:
            raise batch_error
        shape = self._common_shape({row: array.shape[1:] for row, array in arrays.items()}, errors)
        arrays = {row: array for row, array in arrays.items() if array.shape[1:] == shape}
        return numpy.concatenate(list(arrays.values())), list(arrays)

    def _fit_list(self, results: List[Any]) -> Any:
        try:
            array = self._numpy.asarray(results)
        except ValueError as error:
            raise BadResult(f"output {self.name!r}: the values do not form an array: {text_of(error)}") from None
        return self._fit(array)

    def _common_shape(self, shapes: Dict[int, Shape], errors: RowErrors) -> Shape:
        """The shape of more than half of the rows. The other rows fail."""
        ((shape, count), *others) = Counter(shapes.values()).most_common()
        if 2 * count <= len(shapes):
            raise BadResult(f"output {self.name!r}: the rows have different shapes, {list(shape)} and {list(others[0][0])}")
        for row, got in shapes.items():
            if got != shape:
                message = f"output {self.name!r}: the row has the shape {list(got)}, most rows have {list(shape)}"
                errors[row] = RowError("BAD_RESULT", message)
        return shape

    def _empty_shape(self) -> List[int]:
        return [max(size, 0) for size in self.tensor.shape[1:]]

    def _write_json(self, value: Any, rows: int, valid: Sequence[int], errors: RowErrors) -> Written:
        results = to_rows(records_of(value) if is_array(value) else value)
        check_rows(len(results), len(valid))
        elements = [b"null"] * rows
        for row, result in zip(valid, results):
            if isinstance(result, BaseException):
                errors[row] = row_error(result)
                continue
            try:
                elements[row] = to_json(result)
            except Exception as error:
                errors[row] = RowError("BAD_RESULT", f"output {self.name!r} is not JSON: {one_line(error)}")
        return "BYTES", [rows], join_elements(elements)

    def _write_elements(self, value: Any, rows: int, valid: Sequence[int], errors: RowErrors) -> Written:
        results = to_rows(values_of(value) if is_array(value) else value)
        check_rows(len(results), len(valid))
        written: Dict[int, List[bytes]] = {}
        shapes: Dict[int, Shape] = {}
        for row, result in zip(valid, results):
            if isinstance(result, BaseException):
                errors[row] = row_error(result)
                continue
            try:
                written[row], shapes[row] = self._elements_of(result)
            except (BadResult, TypeError, ValueError) as error:
                errors[row] = RowError("BAD_RESULT", text_of(error))
        shape = self._common_shape(shapes, errors) if shapes else tuple(self._empty_shape())
        count = 1
        for size in shape:
            count *= size
        failed = [b""] * count
        elements = (written[row] if shapes.get(row) == shape else failed for row in range(rows))
        return "BYTES", [rows, *shape], join_elements(item for row in elements for item in row)

    def _elements_of(self, row: Any) -> Tuple[List[bytes], Shape]:
        shape: List[int] = []
        items = [values_of(row) if is_array(row) else row]
        while len(shape) < self._rank - 1:
            if not all(isinstance(item, (list, tuple)) and len(item) == len(items[0]) for item in items):
                raise ValueError(f"output {self.name!r}: expected the shape {self.tensor.shape}")
            shape.append(len(items[0]) if items else 0)
            items = [nested for item in items for nested in item]
        self._check_shape((1, *shape))
        for item in items:
            if not isinstance(item, (str, bytes)):
                raise TypeError(f"output {self.name!r}: expected str or bytes, got {type(item).__name__}")
        return [item if isinstance(item, bytes) else item.encode() for item in items], tuple(shape)


def _is_lossless(array: Any, cast: Any, numpy: Any) -> bool:
    kinds = array.dtype.kind + cast.dtype.kind
    if kinds in ("if", "uf"):
        # Back to integers: a comparison of integers and floats rounds the integers.
        return bool((cast.astype(array.dtype) == array).all())
    if kinds == "ff":
        return bool((numpy.isinf(cast) == numpy.isinf(array)).all())
    return bool((cast == array).all())
