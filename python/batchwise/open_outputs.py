"""Write an output whose datatype or number of dimensions is open: that of each result."""
from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Sequence, Tuple, Union

from .errors import BadResult, text_of
from .outputs import OutputWriter, RowErrors, Written, to_rows
from .signature import Tensor
from .tensors import datatype_of, is_array


def make_writer(tensor: Tensor) -> "Writer":
    return OpenOutputWriter(tensor) if tensor.is_open else OutputWriter(tensor)


class OpenOutputWriter:
    """Writes one output with the datatype and the number of dimensions of each result."""

    def __init__(self, tensor: Tensor) -> None:
        self.name = tensor.name
        self.tensor = tensor
        self._writers: Dict[Tuple[str, int], OutputWriter] = {}

    def write(self, value: Any, rows: int, valid: Sequence[int], errors: RowErrors) -> Written:
        import numpy

        value = numpy.asarray(value) if is_array(value) else to_rows(value)
        if isinstance(value, numpy.ndarray):
            if value.ndim == 0:
                raise BadResult(f"output {self.name!r} is a single value: expected one per row")
            value = value.tolist() if value.dtype.kind == "O" else value
        return self._writer_for(value, numpy).write(value, rows, valid, errors)

    def _writer_for(self, value: Any, numpy: Any) -> OutputWriter:
        if isinstance(value, numpy.ndarray):
            form = self._form_of(value)
        else:
            form = self._form_of_rows([row for row in value if not isinstance(row, BaseException)], numpy)
        if self.tensor.any_datatype:
            datatype, dimensions = form
        else:
            datatype, dimensions = self.tensor.datatype, form[1]
        writer = self._writers.get((datatype, dimensions))
        if writer is None:
            writer = OutputWriter(Tensor(self.name, datatype, [-1] * dimensions))
            self._writers[datatype, dimensions] = writer
        return writer

    def _form_of_rows(self, results: List[Any], numpy: Any) -> Tuple[str, int]:
        """The datatype and the number of dimensions of the rows, or of most of them."""
        if not results:
            return self.tensor.datatype, 1
        together = _array_of(results, numpy)
        if together is not None and together.dtype.kind not in "OSU":
            return self._form_of(together)
        # Rows of different forms, or texts: numpy makes a text of a number beside a text.
        arrays = [array for array in (_array_of(result, numpy) for result in results) if array is not None]
        arrays = [array for array in arrays if array.dtype.kind != "O"]
        if not arrays:
            kind = type(results[0]).__name__
            raise BadResult(f"output {self.name!r}: a row of type {kind} has no datatype; the type hint `list` makes it JSON")
        forms = Counter((array.dtype.kind in "SU", array.ndim) for array in arrays)
        (is_text, dimensions) = forms.most_common(1)[0][0]
        if is_text:
            return "BYTES", 1 + dimensions
        alike = [array.dtype for array in arrays if (array.dtype.kind in "SU", array.ndim) == (is_text, dimensions)]
        return self._form_of(numpy.empty([0] * (1 + dimensions), numpy.result_type(*alike)))

    def _form_of(self, array: Any) -> Tuple[str, int]:
        try:
            return datatype_of(array.dtype), array.ndim
        except ValueError as error:
            raise BadResult(f"output {self.name!r}: {text_of(error)}") from None


def _array_of(values: Any, numpy: Any) -> Any:
    """None for values that form no array."""
    try:
        return numpy.asarray(values)
    except ValueError:
        return None


Writer = Union[OutputWriter, OpenOutputWriter]
