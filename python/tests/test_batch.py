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
                assert x.flags.writeable and x.flags.aligned and x.dtype == "{code}"
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
        (6, "BAD_RESULT"),
    ]
    texts_of = [error["message"] for error in message.header["errors"]]
    assert texts_of[:2] == ["no good", "KeyError: 'k'"]
    assert "type object has no JSON form" in texts_of[3]
    values = value_of(message)
    assert [values[index] for index in (0, 3, 7)] == [b"1", b"2", b"3"]


def test_the_errors_of_many_rows_fit_the_header(inline: Any) -> None:
    model = inline("import batchwise\ndef predict(items): return [batchwise.InvalidItem('x' * 1000) for _ in items]")
    model.receive()
    errors = model.infer(jsons("items", [0] * 5000)).header["errors"]
    assert len(errors) == 5000 and errors[0]["message"] == "x" * 100
    header = model.infer(jsons("items", [0] * 50_000)).header
    assert (header["kind"], header["code"]) == ("error", "BAD_RESULT")
    assert "50000 rows failed" in header["message"]


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
    header = model.infer(texts("items", ["{"]), texts("names", ["a"])).header
    assert (header["kind"], header["code"]) == ("error", "INVALID_ITEM")


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
        if not any(expected):
            assert message.header["code"] == "INVALID_ITEM"
            continue
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
        if not any(expected):
            assert message.header["code"] == "INVALID_ITEM", (seed, batch)
            continue
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
    assert model.infer(texts("items", [text])).header["code"] == "INVALID_ITEM"


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
    "a dict": ("return {'a': items}", "BAD_RESULT", "dict with a: expected the outputs output; give the model"),
    "a text": ("return 'ab'", "BAD_RESULT", "object of type str"),
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
    "not contiguous": ("return np.asfortranarray(x)", None),
    "big-endian": ("return x.astype('>f4')", None),
    "an array-like": ("return type('A', (), {'__array__': lambda self, *a, **k: x})()", None),
    "complex": ("return x.astype(complex)", "expected FP32, got the numpy type complex128"),
    "strings": ("return x.astype(str)", "expected FP32, got BYTES, which cannot be converted safely"),
    "rows": ("return x[1:]", "predict returned 1 row for 2 rows of input"),
    "columns": ("return x[:, 1:]", r"output 'y': expected the shape \[-1, 3\], got \[2, 2\]$"),
    "rank": ("return x[:, 0]", r"expected the shape \[-1, 3\], got \[2\]"),
    "ragged": ("return [[1, 2, 3], [1]]", "do not form an array|cannot be converted"),
    "a single value": ("return x.sum()", "single value"),
    "other names": ("return {'z': x}", "dict with z: expected the outputs y$"),
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
    assert "expected UINT8, got INT64" in model.infer(numbers("x", np.array([0, 256]))).header["message"]
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
