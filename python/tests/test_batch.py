"""Single batches: what reaches `predict`, and how its result or its exception is reported."""
from __future__ import annotations

import json
import random
import re
from typing import Any, List

import pytest
from conftest import PACKAGE, jsons, numbers, texts, value_of

from batchwise.errors import StartError, traceback_of


def test_json_values_are_passed_and_returned(inline: Any) -> None:
    model = inline(
        """
        import dataclasses
        @dataclasses.dataclass
        class Point:
            x: int
        def predict(items):
            assert isinstance(items, list)
            return [Point(item["x"]) if isinstance(item, dict) else item for item in items]
        """
    )
    assert model.receive().header["inputs"] == [{"name": "items", "datatype": "BYTES", "shape": [-1], "content": "json"}]
    message = model.infer(jsons("items", [{"x": 1}, None, [1.5, "é"], True]))
    assert value_of(message) == [b'{"x":1}', b"null", '[1.5,"é"]'.encode(), b"true"]


@pytest.mark.parametrize("code", ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_every_datatype_of_numbers(inline: Any, code: str) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        f"""
        import numpy as np
        class Model:
            example = np.zeros((1, 3), "{code}")
            def predict(self, x):
                assert x.flags.writeable and x.flags.aligned and not x.flags.owndata and x.dtype == "{code}"
                return x[:, ::-1]
        """
    )
    model.receive()
    x = np.arange(12).reshape(4, 3).astype(code)
    message = model.infer(numbers("x", x))
    assert np.array_equal(value_of(message), x[:, ::-1])
    assert value_of(message).dtype == x.dtype
    assert value_of(model.infer(numbers("x", x[:0]))).shape == (0, 3)


ROWS = """
    import batchwise
    def predict(items):
        results = []
        for item in items:
            if item == "invalid": results.append(batchwise.InvalidItem("no good"))
            elif item == "error": results.append(KeyError("k"))
            elif item == "nan": results.append(float("nan"))
            elif item == "object": results.append(object())
            elif item == "surrogate": results.append("\\ud800")
            else: results.append(item)
        return results
"""


def test_a_row_fails_alone(inline: Any) -> None:
    model = inline(ROWS)
    model.receive()
    message = model.infer(jsons("items", [1, "invalid", "error", 2, "nan", "object", "surrogate", 3]))
    assert [(error["row"], error["code"]) for error in message.header["errors"]] == [
        (1, "INVALID_ITEM"),
        (2, "HANDLER_FAILED"),
        (4, "BAD_RESULT"),
        (5, "BAD_RESULT"),
    ]
    texts_of = [error["message"] for error in message.header["errors"]]
    assert texts_of[:2] == ["no good", "KeyError: 'k'"]
    assert "type object has no JSON form" in texts_of[3]
    values = value_of(message)
    assert [values[index] for index in (0, 3, 7)] == [b"1", b"2", b"3"]


# A lone surrogate is valid in a JSON text, and has no UTF-8 form: the row of a model that returns its items failed.
def test_a_lone_surrogate_is_returned_as_an_escape(inline: Any) -> None:
    model = inline("def predict(items): return items")
    model.receive()
    message = model.infer(texts("items", ['"\\ud800"', '{"é":"\\udfff"}', '"é"']))
    assert message.header["errors"] == []
    assert value_of(message) == [b'"\\ud800"', b'{"\\u00e9":"\\udfff"}', '"é"'.encode()]


# Messages of 100 characters were the shortest: with more, the whole batch failed, and every client received the
# message of the first row, which may quote the item of another client.
def test_the_errors_of_many_rows_fit_the_header(inline: Any) -> None:
    model = inline(
        """
        import batchwise
        def predict(items): return [batchwise.InvalidItem("\U0001f600" * 1000) if item else item for item in items]
        """
    )
    model.receive()
    for count in (100, 1_000, 18_000):
        message = model.infer(jsons("items", [0] + [1] * count))
        errors = message.header["errors"]
        assert [error["row"] for error in errors] == list(range(1, count + 1))
        assert value_of(message)[0] == b"0"
        assert len({error["message"] for error in errors}) == 1
        assert set(errors[0]["message"]) <= {"\U0001f600"}
        assert bool(errors[0]["message"]) == (count < 18_000)
    header = model.infer(jsons("items", [1] * 50_000)).header
    assert (header["kind"], header["code"]) == ("error", "BAD_RESULT")
    assert header["message"] == "predict failed for 50000 rows, whose errors do not fit one message"


# The error of the first invalid row was the error of the whole batch, for all of its clients.
def test_each_row_of_an_invalid_batch_has_its_own_error(inline: Any) -> None:
    pytest.importorskip("numpy")
    model = inline(
        """
        import batchwise
        T = batchwise.Tensor
        signature = batchwise.Signature([T("items", "BYTES", [-1], "json")], [T("x", "FP32", [-1, 2]), T("y", "BYTES")])
        @batchwise.model(signature=signature)
        def predict(items): raise AssertionError("no row is valid")
        """
    )
    model.receive()
    message = model.infer(texts("items", ["{", "[1"]))
    assert [error["code"] for error in message.header["errors"]] == ["INVALID_ITEM"] * 2
    assert len({error["message"] for error in message.header["errors"]}) == 2
    assert [tensor["shape"] for tensor in message.header["tensors"]] == [[2, 2], [2]]


# Only an exception that fails a whole batch had its traceback in the log.
def test_the_exceptions_of_rows_have_one_traceback_in_the_log(inline: Any, capfd: Any) -> None:
    model = inline(
        """
        import batchwise
        def _one(item):
            try:
                return 1 / item
            except Exception as error:
                return error
        def predict(items): return [batchwise.InvalidItem("null") if item is None else _one(item) for item in items]
        """
    )
    model.receive()
    model.infer(jsons("items", [1, None]))
    assert capfd.readouterr().err == ""
    model.infer(jsons("items", [1, None, 0, 0]))
    log = capfd.readouterr().err
    assert log.startswith("batchwise: 2 of 4 rows failed, the first one with:\nTraceback ")
    assert log.endswith("ZeroDivisionError: division by zero\n") and log.count("Traceback") == 1
    assert '"model.py", line 5, in _one' in log


def test_a_closed_standard_error_fails_no_row(inline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = inline("def predict(items): return [KeyError(), 2]")
    model.receive()
    monkeypatch.setattr("sys.stderr", None)
    assert value_of(model.infer(jsons("items", [1, 2])))[1] == b"2"


# `list()` of a DataFrame is its column names, and these were the results of two rows.
FRAMES = {
    "a DataFrame": ("frame", [{"p": 1, "q": "a"}, {"p": 2, "q": "b"}]),
    "a Series": ("frame['q']", ["a", "b"]),
    "a Series of numbers": ("frame['p']", [1, 2]),
    "an Index": ("frame.set_index('q').index", ["a", "b"]),
}


@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_dataframe_is_one_object_per_row(inline: Any, case: str, library: str) -> None:
    pytest.importorskip(library)
    if case == "an Index" and library == "polars":
        pytest.skip("polars has no index")
    code, expected = FRAMES[case]
    model = inline(
        f"""
        import {library} as library
        def predict(items):
            frame = library.DataFrame({{"p": [item["p"] for item in items], "q": [item["q"] for item in items]}})
            return {code}
        """
    )
    model.receive()
    rows = [{"p": 1, "q": "a"}, {"p": 2, "q": "b"}]
    assert [json.loads(value) for value in value_of(model.infer(jsons("items", rows)))] == expected
    message = model.infer(texts("items", [json.dumps(rows[0]), "{", json.dumps(rows[1])]))
    assert [error["row"] for error in message.header["errors"]] == [1]
    assert [json.loads(value_of(message)[row]) for row in (0, 2)] == expected


# The same with the interface of a DataFrame, so that it is tested without pandas.
def test_an_object_with_the_interface_of_a_dataframe(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    source = """
        import numpy as np, batchwise
        class Frame:
            columns = ["p"]
            def __init__(self, items): self.items = items
            def __iter__(self): return iter(self.columns)
            def __len__(self): return len(self.items)
            def __array__(self, *args, **options): return np.array([[float(item)] for item in self.items])
            def to_dict(self, orient): return [{{"p": item}} for item in self.items] if orient == "records" else None
        @batchwise.model(signature=batchwise.Signature([batchwise.Tensor("items", "BYTES", [-1], "json")], [{output}]))
        def predict(items): return Frame(items)
    """
    records = inline(source.format(output='batchwise.Tensor("y", "BYTES", [-1], "json")'))
    numbers_of = inline(source.format(output='batchwise.Tensor("y", "FP32", [-1, 1])'))
    for batch in (["1", "2"], ["1", "{", "2"]):
        failed = [row for row, text in enumerate(batch) if text == "{"]
        message = records.infer(texts("items", batch))
        assert [error["row"] for error in message.header["errors"]] == failed
        assert [value for value in value_of(message) if value != b"null"] == [b'{"p":1}', b'{"p":2}']
        message = numbers_of.infer(texts("items", batch))
        assert [error["row"] for error in message.header["errors"]] == failed
        assert np.array_equal(value_of(message)[value_of(message) != 0], [1, 2])


# As above: a DataFrame beside an invalid row was the list of its column names, and all rows failed.
def test_a_dataframe_of_numbers_is_a_tensor(inline: Any) -> None:
    pytest.importorskip("pandas")
    model = inline(
        """
        import numpy as np, pandas
        class Model:
            example = [{"a": 1}]
            def predict(self, items: list) -> np.ndarray:
                return pandas.DataFrame({"p": [item["a"] for item in items], "q": 0.5}).astype("float32")
        """
    )
    assert model.receive().header["outputs"] == [{"name": "output", "datatype": "FP32", "shape": [-1, 2]}]
    message = model.infer(texts("items", ['{"a":1}', "{", '{"a":3}']))
    assert [error["row"] for error in message.header["errors"]] == [1]
    assert value_of(message).tolist() == [[1, 0.5], [0, 0], [3, 0.5]]


def test_a_dataframe_may_be_the_example(inline: Any) -> None:
    pytest.importorskip("pandas")
    model = inline(
        """
        import pandas
        class Model:
            example = pandas.DataFrame({"p": [1], "q": ["a"]})
            def predict(self, items): return pandas.DataFrame(items)
        """
    )
    header = model.receive().header
    assert header["inputs"][0]["content"] == header["outputs"][0]["content"] == "json"
    assert value_of(model.infer(jsons("items", [{"p": 2, "q": "b"}]))) == [b'{"p":2,"q":"b"}']


def test_two_columns_of_the_same_name_are_no_record(inline: Any) -> None:
    pytest.importorskip("pandas")
    model = inline("import pandas\ndef predict(items): return pandas.DataFrame([[1, 2]], columns=['a', 'a'])")
    model.receive()
    header = model.infer(jsons("items", [1])).header
    assert (header["code"], header["message"]) == ("BAD_RESULT", "predict returned a DataFrame with two columns of the same name")


def test_invalid_json_and_text_fail_their_row(inline: Any) -> None:
    model = inline(
        """
        from typing import List
        def predict(items: list, names: List[str]) -> list:
            return [[item, name] for item, name in zip(items, names)]
        """
    )
    model.receive()
    message = model.infer(texts("items", ["1", "{", "3"]), texts("names", ["a", "b", b"\xff"]))
    assert [(error["row"], error["code"]) for error in message.header["errors"]] == [(1, "INVALID_ITEM"), (2, "INVALID_ITEM")]
    assert value_of(message)[0] == b'[1,"a"]'
    message = model.infer(texts("items", ["1,2", "3"]), texts("names", ["a", "b"]))  # "[1,2,3]" together
    assert [error["row"] for error in message.header["errors"]] == [0]


# The JSON texts of a batch were joined with commas and parsed as one list, of which only the length was checked:
# a text with a comma, an open bracket or half a string moved values to the rows of other clients.
HOSTILE = [
    ['1,"INJECTED"', '{"victim":1}', '"x', 'y"'],
    ["[1", '"victim"', "2],3,4"],
    ['{"a":1', '"victim":2}', "1,2"],
    ['1,2', ""],
    ['"a', 'b"', "1,2"],
    ['"a\\', '"victim"', '1,2'],
    ["1]", "[2"],
    ["1],[2", "3"],
    ['1,"0123456789abcdef",2', "3"],
    ["\0", "\0"],
]


@pytest.mark.parametrize("elements", HOSTILE)
def test_invalid_json_does_not_change_other_rows(inline: Any, elements: List[str]) -> None:
    model = inline("def predict(items): return items")
    model.receive()
    for neighbours in (["0"], []):
        batch = [*neighbours, *elements, *neighbours]
        expected = [valid_json(element) for element in batch]
        message = model.infer(texts("items", batch))
        assert [error["row"] for error in message.header["errors"]] == [i for i, ok in enumerate(expected) if not ok]
        assert all(value == text.encode() for value, text, ok in zip(value_of(message), batch, expected) if ok)


def valid_json(text: str) -> bool:
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def test_a_list_of_json_cut_at_any_comma_does_not_change_rows(inline: Any) -> None:
    model = inline("def predict(items): return items")
    model.receive()
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)

    def value(depth: int) -> Any:
        kinds: List[Any] = [7, "a,b", ",", {"a": 1, "b": "]"}]
        return [value(depth + 1) for _ in range(rng.randrange(4))] if depth < 3 and rng.random() < 0.5 else rng.choice(kinds)

    for _ in range(300):
        values = [value(0) for _ in range(rng.randrange(2, 6))]
        parts = json.dumps(values, separators=(",", ":"))[1:-1].split(",")
        cuts = sorted(rng.sample(range(1, len(parts)), len(values) - 1))
        # As many elements as values; joined with commas they are the original list.
        batch = [",".join(parts[start:end]) for start, end in zip([0, *cuts], [*cuts, len(parts)])]
        expected = [valid_json(text) for text in batch]
        message = model.infer(texts("items", batch))
        errors = [error["row"] for error in message.header["errors"]]
        assert errors == [row for row, is_valid in enumerate(expected) if not is_valid], (seed, batch)
        for got, text, is_valid in zip(value_of(message), batch, expected):
            assert not is_valid or json.loads(got) == json.loads(text), (seed, batch)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "[1,NaN]"])
def test_nan_and_infinity_are_not_json(inline: Any, text: str) -> None:
    model = inline("def predict(items): return [str(item) for item in items]")
    model.receive()
    message = model.infer(texts("items", ["1", text, "2"]))
    (error,) = message.header["errors"]
    assert (error["row"], error["code"]) == (1, "INVALID_ITEM")
    assert "is not a JSON value" in error["message"]


# `nest` raised ProtocolError for a dimension of 0, which is the shape of a client: the process ended.
def test_a_dimension_of_0_is_empty_lists(inline: Any) -> None:
    model = inline(
        """
        import batchwise
        signature = batchwise.Signature([batchwise.Tensor("x", "BYTES", [-1, -1, -1])], [batchwise.Tensor("y", "BYTES", [-1], "json")])
        @batchwise.model(signature=signature)
        def predict(x): return x
        """
    )
    model.receive()

    def infer(shape: List[int]) -> Any:
        return model.infer(({"name": "x", "datatype": "BYTES", "shape": shape, "bytes": 0}, b""))

    assert value_of(infer([2, 0, 3])) == [b"[]", b"[]"]
    assert value_of(infer([2, 2, 0])) == [b"[[],[]]", b"[[],[]]"]
    assert value_of(infer([0, 2, 2])) == []
    header = infer([1, 1 << 40, 0]).header
    assert (header["kind"], header["code"]) == ("error", "INVALID_ITEM")
    assert "expected at most 1048576 empty lists" in header["message"]


# The message of an exception was read without a guard: one whose `__str__` raises ended the thread of the model.
UNPRINTABLE = """
    import batchwise
    class Unprintable(ValueError):
        def __str__(self): raise RuntimeError("no text")
    class Invalid(batchwise.InvalidItem):
        def __str__(self): raise SystemExit(1)
    def predict(items):
        if items == ["batch"]: raise Unprintable()
        if items == ["invalid"]: raise Invalid()
        return [Unprintable() if item == "row" else Invalid() if item == "invalid row" else item for item in items]
"""


def test_an_exception_without_a_text_is_reported_by_its_type(inline: Any) -> None:
    model = inline(UNPRINTABLE)
    model.receive()
    header = model.infer(jsons("items", ["batch"])).header
    assert (header["code"], header["message"]) == ("HANDLER_FAILED", "Unprintable")
    assert "traceback" in header
    header = model.infer(jsons("items", ["invalid"])).header
    assert (header["code"], header["message"]) == ("INVALID_ITEM", "Invalid")
    message = model.infer(jsons("items", ["row", 1, "invalid row"]))
    assert message.header["errors"] == [
        {"row": 0, "code": "HANDLER_FAILED", "message": "Unprintable"},
        {"row": 2, "code": "INVALID_ITEM", "message": "Invalid"},
    ]
    assert value_of(message)[1] == b"1"


def test_a_traceback_that_cannot_be_formatted_is_replaced() -> None:
    class Unprintable(ValueError):
        @property
        def __notes__(self) -> List[str]:
            raise RuntimeError("no notes")

    assert isinstance(traceback_of(Unprintable()), str)


# The server closes the connection for a body above 1 GiB, which it reads as a protocol error.
def test_a_result_above_the_limit_of_a_frame_is_a_bad_result(inline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = inline("def predict(items): return [item * 1000 for item in items]")
    model.receive()
    monkeypatch.setattr("batchwise.wire.MAX_BODY_BYTES", 1000)
    header = model.infer(texts("items", ['"a"'])).header
    assert (header["kind"], header["code"]) == ("error", "BAD_RESULT")
    assert header["message"] == "predict returned 1008 bytes: expected at most 1 GiB"


def test_an_example_above_the_limit_of_a_frame_is_refused(inline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batchwise.start.MAX_BODY_BYTES", 1000)
    with pytest.raises(StartError, match="the example has 1008 bytes: expected at most 1 GiB"):
        inline("class Model:\n  example = ['x' * 1000]\n  def predict(self, items): return items")


def test_invalid_rows_beside_numbers(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np
        from typing import List
        def predict(items: list, x: np.ndarray) -> np.ndarray:
            return x + len(items)
        """
    )
    model.receive()
    message = model.infer(texts("items", ["{", "1", "2"]), numbers("x", np.arange(6, dtype="f4").reshape(3, 2)))
    assert [error["row"] for error in message.header["errors"]] == [0]
    assert value_of(message).tolist() == [[0, 0], [4, 5], [6, 7]]


BATCH_ERRORS = {
    "an exception": ("raise ValueError('text')", "HANDLER_FAILED", "^ValueError: text$"),
    "InvalidItem": ("raise batchwise.InvalidItem('no good')", "INVALID_ITEM", "^no good$"),
    "sys.exit": ("sys.exit(1)", "HANDLER_FAILED", "^SystemExit: 1$"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "HANDLER_FAILED", "^KeyboardInterrupt$"),
    "recursion": ("return model(items)", "HANDLER_FAILED", "^RecursionError: "),
    "too few rows": ("return items[1:]", "BAD_RESULT", "^predict returned 1 row for 2 rows of input: expected one result"),
    "nothing": ("pass", "BAD_RESULT", "object of type NoneType: expected a list or array with one result per row"),
    "a dict": ("return {'a': items}", "BAD_RESULT", "^predict returned a dict without the outputs output; give the model"),
    "a text": ("return 'ab'", "BAD_RESULT", "object of type str: expected a list or array with one result per row"),
    "a set": ("return set(items)", "BAD_RESULT", "object of type set: expected a list"),
    "a generator": ("return (item for item in items)", "BAD_RESULT", "object of type generator: expected a list"),
    "map": ("return map(str, items)", "BAD_RESULT", "object of type map: expected a list"),
    "a MemoryError": ("raise MemoryError", "HANDLER_FAILED", "^MemoryError$"),
}


@pytest.mark.parametrize("case", BATCH_ERRORS)
def test_a_batch_that_fails_does_not_end_the_model(inline: Any, case: str) -> None:
    body, code, expected = BATCH_ERRORS[case]
    model = inline(f"import sys, batchwise\ndef model(items):\n  if items == [1]: return items\n  {body}")
    model.receive()
    header = model.infer(jsons("items", [1, 2])).header
    assert (header["kind"], header["id"], header["code"]) == ("error", 1, code)
    assert re.search(expected, header["message"]), header["message"]
    if code == "HANDLER_FAILED":
        assert "model.py" in header["traceback"] and str(PACKAGE) not in header["traceback"]
    assert model.infer(jsons("items", [1])).header["kind"] == "result"


NUMBER_RESULTS = {
    "float64": ("return x.astype('f8')", None),
    "a list": ("return [row.tolist() for row in x]", None),
    "another sequence": ("import collections; return collections.deque(x.tolist())", None),
    "an array of objects": ("return x.astype(object)", None),
    "not contiguous": ("return np.asfortranarray(x)", None),
    "big-endian": ("return x.astype('>f4')", None),
    "an array-like": ("return type('A', (), {'__array__': lambda self, *a, **k: x})()", None),
    "complex": ("return x.astype(complex)", "expected FP32, got the numpy type complex128"),
    "strings": ("return x.astype(str)", "expected FP32, got BYTES, which cannot be converted safely"),
    "rows": ("return x[1:]", "predict returned 1 row for 2 rows of input"),
    "columns": ("return x[:, 1:]", r"output 'y': expected the shape \[-1, 3\], got \[2, 2\]$"),
    "rank": ("return x[:, 0]", r"expected the shape \[-1, 3\], got \[2\]"),
    "lists of other lengths": ("return [[1, 2], [1]]", "do not form an array|cannot be converted|expected the shape"),
    "a single value": ("return x.sum()", "single value"),
    "other names": ("return {'z': x}", "dict without the outputs y$"),
}


@pytest.mark.parametrize("case", NUMBER_RESULTS)
def test_results_are_checked_against_the_signature(inline: Any, case: str) -> None:
    np = pytest.importorskip("numpy")
    body, expected = NUMBER_RESULTS[case]
    model = inline(
        f"""
        import numpy as np, batchwise
        class Model:
            signature = batchwise.Signature(
                inputs=[batchwise.Tensor("x", "FP32", [-1, 3])], outputs=[batchwise.Tensor("y", "FP32", [-1, 3])])
            def predict(self, x):
                {body}
        """
    )
    assert model.receive().header["kind"] == "ready"
    x = np.arange(6, dtype="f4").reshape(2, 3)
    message = model.infer(numbers("x", x))
    if expected is None:
        assert value_of(message).tolist() == x.tolist()
    else:
        assert message.header["code"] == "BAD_RESULT"
        assert re.search(expected, message.header["message"]), message.header["message"]


def test_integers_are_converted_only_without_loss(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np, batchwise
        signature = batchwise.Signature([batchwise.Tensor("x", "INT64")], [batchwise.Tensor("y", "UINT8")])
        @batchwise.model(signature=signature)
        def predict(x): return x
        """
    )
    model.receive()
    assert value_of(model.infer(numbers("x", np.array([0, 255])))).tolist() == [0, 255]
    # One value that does not fit failed the rows of the other clients as well.
    message = model.infer(numbers("x", np.array([0, 256, 255])))
    (error,) = message.header["errors"]
    assert (error["row"], error["code"]) == (1, "BAD_RESULT") and "expected UINT8, got INT64" in error["message"]
    assert value_of(message).tolist() == [0, 0, 255]
    assert "expected UINT8, got INT64" in model.infer(numbers("x", np.array([-1]))).header["message"]
    narrow = inline(
        """
        import numpy as np, batchwise
        signature = batchwise.Signature([batchwise.Tensor("x", "INT64")], [batchwise.Tensor("y", "INT32")])
        @batchwise.model(signature=signature)
        def predict(x): return x
        """
    )
    assert value_of(narrow.infer(numbers("x", np.array([-5])))).tolist() == [-5]
    assert "expected INT32, got INT64" in narrow.infer(numbers("x", np.array([1 << 31]))).header["message"]


def test_a_list_of_numbers_may_have_failed_rows(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np, batchwise
        def predict(x: np.ndarray) -> np.ndarray:
            return [batchwise.InvalidItem("negative") if row[0] < 0 else row for row in x]
        """
    )
    model.receive()
    message = model.infer(numbers("x", np.array([[1, 2], [-1, 0], [3, 4]], "f4")))
    assert message.header["errors"] == [{"row": 1, "code": "INVALID_ITEM", "message": "negative"}]
    assert value_of(message).tolist() == [[1, 2], [0, 0], [3, 4]]
    message = model.infer(numbers("x", np.array([[-1, 0]], "f4")))
    assert [error["row"] for error in message.header["errors"]] == [0]


# Rows of different lengths failed the whole batch, so that one item failed the items of other clients.
RAGGED = {
    "declared": ("[-1, 2]", [[1, 2], [1, 2, 3], [3, 4]], [1], "expected the shape [-1, 2], got [1, 3]"),
    "declared, and in the minority": ("[-1, 2]", [[1], [1, 2], [1]], [0, 2], "expected the shape [-1, 2], got [1, 1]"),
    "as most rows": ("[-1, -1]", [[1, 2], [1, 2, 3], [3, 4]], [1], "the row has the shape [3], most rows have [2]"),
    "another rank": ("[-1, -1]", [[1, 2], 7, [3, 4]], [1], "expected the shape [-1, -1], got [1]"),
    "ragged itself": ("[-1, -1, -1]", [[[1, 2]], [[1], [1, 2]], [[3, 4]]], [1], ""),
    "text": ("[-1, 2]", [[1, 2], ["a", "b"], [3, 4]], [1], "expected FP32, got BYTES"),
    "nothing": ("[-1]", [1, None, 3], [1], "expected FP32, got BYTES"),
}


@pytest.mark.parametrize("case", RAGGED)
def test_a_row_of_another_shape_fails_alone(inline: Any, case: str) -> None:
    pytest.importorskip("numpy")
    shape, rows, failed, expected = RAGGED[case]
    model = inline(ragged_model("FP32", shape))
    model.receive()
    message = model.infer(jsons("items", rows))
    errors = message.header["errors"]
    assert [(error["row"], error["code"]) for error in errors] == [(row, "BAD_RESULT") for row in failed]
    assert all(expected in error["message"] for error in errors), errors
    assert all(value_of(message)[row].tolist() == rows[row] for row in range(len(rows)) if row not in failed)
    # As much as an invalid row, which is not passed to `predict`.
    message = model.infer(texts("items", ["{"] + [json.dumps(row) for row in rows]))
    assert [error["row"] for error in message.header["errors"]] == [0] + [row + 1 for row in failed]


@pytest.mark.parametrize("datatype, rows", [("FP32", [[1, 2], [1]]), ("BYTES", [["a", "b"], ["a"]])])
def test_rows_without_a_common_shape_fail_the_batch(inline: Any, datatype: str, rows: List[Any]) -> None:
    pytest.importorskip("numpy")
    model = inline(ragged_model(datatype, "[-1, -1]"))
    model.receive()
    header = model.infer(jsons("items", rows)).header
    assert (header["kind"], header["code"]) == ("error", "BAD_RESULT")
    assert header["message"] == "predict output 'y': the rows have different shapes, [2] and [1]"


# As for numbers: texts of different shapes failed the whole batch.
@pytest.mark.parametrize("shape, expected", [("[-1, 2]", "expected the shape [-1, 2], got [1, 3]"), ("[-1, -1]", "most rows have [2]")])
def test_a_row_of_texts_of_another_shape_fails_alone(inline: Any, shape: str, expected: str) -> None:
    model = inline(ragged_model("BYTES", shape))
    model.receive()
    message = model.infer(jsons("items", [["a", "b"], ["c", "d", "e"], ["f", "g"]]))
    (error,) = message.header["errors"]
    assert (error["row"], error["code"]) == (1, "BAD_RESULT") and expected in error["message"]
    assert value_of(message) == [b"a", b"b", b"", b"", b"f", b"g"]


def ragged_model(datatype: str, shape: str) -> str:
    return f"""
        import batchwise
        T = batchwise.Tensor
        signature = batchwise.Signature([T("items", "BYTES", [-1], "json")], [T("y", {datatype!r}, {shape})])
        @batchwise.model(signature=signature)
        def predict(items): return items
    """


def test_several_outputs_as_a_tuple_and_strings_of_two_dimensions(inline: Any) -> None:
    model = inline(
        """
        import batchwise
        T = batchwise.Tensor
        @batchwise.model(signature=batchwise.Signature([T("x", "BYTES", [-1, 2])], [T("a", "BYTES", [-1, 2]), T("b", "BYTES")]))
        def predict(x):
            return [[p[1], p[0]] if p[0] != "bad" else 1 for p in x], [b"raw"] * len(x)
        """
    )
    model.receive()
    header, data = texts("x", ["a", "b", "bad", "d"])
    message = model.infer(({**header, "shape": [2, 2]}, data))
    assert value_of(message) == [b"b", b"a", b"", b""]
    assert value_of(message, 1) == [b"raw", b"raw"]
    assert message.header["errors"] == [{"row": 1, "code": "BAD_RESULT", "message": "output 'a': expected the shape [-1, 2]"}]


def test_an_input_that_does_not_fit_is_an_invalid_item(inline: Any) -> None:
    model = inline("from typing import List\ndef upper(texts: List[str]): return texts")
    model.receive()
    assert "'texts' is missing" in model.infer(texts("other", ["a"])).header["message"]
    header, data = texts("texts", ["a", "b"])
    assert "expected BYTES [-1]" in model.infer(({**header, "shape": [1, 2]}, data)).header["message"]


# A hint of np.ndarray without an example was FP32 [-1, -1]: a result of one dimension got a second one, integers
# became floats, and texts failed.
OPEN_RESULTS = {
    "integers": ("np.array([2, 0])", "INT64", [2], [2, 0]),
    "integers that FP32 cannot hold": ("np.array([2**24 + 1, 0])", "INT64", [2], [2**24 + 1, 0]),
    "floats": ("np.array([0.1, 0.2])", "FP64", [2], [0.1, 0.2]),
    "a small type": ("np.zeros((2, 1, 3), 'i1')", "INT8", [2, 1, 3], [[[0, 0, 0]], [[0, 0, 0]]]),
    "booleans": ("x[:, 0] > 0", "BOOL", [2], [False, True]),
    "texts": ("np.array(['a', 'größer'])", "BYTES", [2], [b"a", "größer".encode()]),
    "texts as objects": ("np.array(['a', 'b'], object)", "BYTES", [2], [b"a", b"b"]),
    "texts of two dimensions": ("np.array([['a', 'b'], ['c', 'd']])", "BYTES", [2, 2], [b"a", b"b", b"c", b"d"]),
    "rows of texts as arrays": ("[np.array(['a', 'b']), np.array(['c', 'd'])]", "BYTES", [2, 2], [b"a", b"b", b"c", b"d"]),
    "bytes": ("np.array([b'a', b'b'])", "BYTES", [2], [b"a", b"b"]),
    "a list of integers": ("[3, 4]", "INT64", [2], [3, 4]),
    "a list of rows": ("[row for row in x]", "FP32", [2, 3], [[0, 1, 2], [3, 4, 5]]),
    "big-endian": ("np.array([1, 2], '>i4')", "INT32", [2], [1, 2]),
}


@pytest.mark.parametrize("hints", ["np.ndarray", "list"])
@pytest.mark.parametrize("case", OPEN_RESULTS)
def test_a_result_without_an_example_keeps_its_datatype_and_shape(inline: Any, case: str, hints: str) -> None:
    np = pytest.importorskip("numpy")
    result, datatype, shape, expected = OPEN_RESULTS[case]
    model = inline(
        f"""
        import numpy as np
        class Classifier:
            def predict(self, rows: {hints}) -> np.ndarray:
                x = np.array(rows, 'f4')
                if x.shape[1] != 3: raise ValueError("expected 3 columns")
                return {result}
        """
    )
    output = model.receive().header["outputs"][0]
    assert (output["any_datatype"], output["any_shape"]) == (True, True)
    x = np.arange(6, dtype="f4").reshape(2, 3)
    message = model.infer(numbers("rows", x) if hints == "np.ndarray" else jsons("rows", x.tolist()))
    (tensor,) = message.header["tensors"]
    assert (tensor["datatype"], tensor["shape"]) == (datatype, shape)
    value = value_of(message)
    assert (value if datatype == "BYTES" else value.tolist()) == expected


def test_a_result_of_zeros_does_not_decide_the_datatype(inline: Any) -> None:
    # One row of zeros is run at the start. Its result was the datatype of all others: 0.5 failed.
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np
        def halves(x: np.ndarray) -> np.ndarray:
            return np.array([value / 2 if value % 2 else int(value) // 2 for value in x.ravel().tolist()])
        """
    )
    assert model.receive().header["outputs"][0]["datatype"] == "INT64"
    assert value_of(model.infer(numbers("x", np.array([[1], [2]], "f4")))).tolist() == [0.5, 1.0]
    assert value_of(model.infer(numbers("x", np.array([[4], [2]], "f4")))).tolist() == [2, 1]


def test_an_array_has_the_datatype_and_shape_of_the_request(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np
        def echo(x: np.ndarray) -> np.ndarray:
            assert isinstance(x, np.ndarray)
            return x
        """
    )
    (spec,) = model.receive().header["inputs"]
    assert spec == {"name": "x", "datatype": "FP32", "shape": [-1, -1], "any_datatype": True, "any_shape": True}
    for array in (np.arange(4), np.zeros((2, 3, 1), "f8"), np.array([True, False])):
        value = value_of(model.infer(numbers("x", array)))
        assert (value.dtype, value.tolist()) == (array.dtype, array.tolist())
    message = model.infer(texts("x", ["a", b"\xff", "b"]))
    assert [(error["row"], error["code"]) for error in message.header["errors"]] == [(1, "INVALID_ITEM")]
    assert value_of(message) == [b"a", b"", b"b"]
    header, data = numbers("x", np.zeros(1))
    assert "'x' is FP64 []" in model.infer(({**header, "shape": []}, data)).header["message"]


def test_a_hint_with_a_dtype_leaves_only_the_shape_open(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np
        from numpy.typing import NDArray
        def double(x: NDArray[np.int64]) -> NDArray[np.float32]:
            if x.ndim == 2: raise ValueError("expected one dimension")
            return x * 2
        """
    )
    header = model.receive().header
    assert ["any_datatype" in tensor for tensor in header["inputs"] + header["outputs"]] == [False, False]
    value = value_of(model.infer(numbers("x", np.array([1, 2]))))
    assert (value.dtype, value.tolist()) == (np.float32, [2.0, 4.0])
    assert model.infer(numbers("x", np.zeros(2))).header["code"] == "INVALID_ITEM"


OPEN_ROWS = {
    "an exception": ([1, ValueError("x"), 3], {1: "ValueError: x"}, [1, 0, 3]),
    "only exceptions": ([ValueError("x"), ValueError("y")], {0: "ValueError: x", 1: "ValueError: y"}, [0, 0]),
    "a text beside numbers": ([1, "a", 3], {1: "expected INT64, got BYTES"}, [1, 0, 3]),
    "a number beside texts": (["a", 1, "b"], {1: "expected str or bytes, got int"}, [b"a", b"", b"b"]),
    "None beside numbers": ([1.5, None, 3], {1: "expected FP64, got BYTES"}, [1.5, 0, 3]),
    "lengths": ([[1, 2], [3], [4, 5]], {1: "most rows have [2]"}, [[1, 2], [0, 0], [4, 5]]),
    "dimensions": ([[1, 2], 3, [4.5, 5]], {1: "expected the shape [-1, -1], got [1]"}, [[1, 2], [0, 0], [4.5, 5]]),
}


@pytest.mark.parametrize("case", OPEN_ROWS)
def test_most_rows_decide_the_open_datatype_and_shape(inline: Any, case: str) -> None:
    pytest.importorskip("numpy")
    rows, failed, expected = OPEN_ROWS[case]
    model = inline(f"import numpy as np\ndef predict(items: list) -> np.ndarray: return {rows!r}")
    model.receive()
    message = model.infer(jsons("items", [0] * len(rows)))
    errors = {error["row"]: error["message"] for error in message.header["errors"]}
    assert errors.keys() == failed.keys() and all(text in errors[row] for row, text in failed.items()), errors
    value = value_of(message)
    assert (value if isinstance(value, list) else value.tolist()) == expected


@pytest.mark.parametrize(
    "result, expected",
    [
        ("[{'a': 1}]", "a row of type dict has no datatype; the type hint `list` makes it JSON"),
        ("np.array(['2020-01-01'], 'M8[D]')", "the dtype datetime64[D] has no datatype"),
        ("np.float32(1)", "is a single value"),
    ],
)
def test_a_result_without_a_datatype_is_a_bad_result(inline: Any, result: str, expected: str) -> None:
    pytest.importorskip("numpy")
    model = inline(f"import numpy as np\ndef predict(items: list) -> np.ndarray: return {result}")
    model.receive()
    header = model.infer(jsons("items", [1])).header
    assert header["code"] == "BAD_RESULT" and expected in header["message"], header


# Integers were rounded to floats, and large floats became infinite, without an error.
@pytest.mark.parametrize(
    "source, target, exact, lossy",
    [
        ("INT64", "FP32", 2**24, 2**24 + 1),
        ("INT64", "FP64", 2**53, 2**53 + 1),
        ("INT64", "FP64", -(2**63), 2**63 - 1),
        ("UINT64", "FP64", 2**63, 2**64 - 1),
        ("INT32", "FP16", 2048, 2049),
        ("FP64", "FP32", 0.1, 1e300),
        ("FP64", "FP32", float("inf"), -1e39),
    ],
)
def test_a_value_that_a_conversion_would_change_fails_its_row(
    inline: Any, source: str, target: str, exact: Any, lossy: Any
) -> None:
    np = pytest.importorskip("numpy")
    from batchwise.tensors import numpy_dtype

    model = inline(
        f"""
        import batchwise
        T = batchwise.Tensor
        @batchwise.model(signature=batchwise.Signature([T("x", {source!r})], [T("y", {target!r})]))
        def predict(x): return x
        """
    )
    model.receive()
    message = model.infer(numbers("x", np.array([exact, lossy], numpy_dtype(source))))
    (error,) = message.header["errors"]
    assert error["row"] == 1
    assert error["message"] == f"output 'y': expected {target}, got {source}, with a value that would change"
    assert value_of(message)[0] == numpy_dtype(target).type(exact)
