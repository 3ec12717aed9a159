"""The process that `batchwise serve` starts, over a socket pair."""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import PACKAGE, TIMEOUT_SECONDS, infer, jsons, numbers, texts, value_of

from batchwise.errors import StartError
from batchwise.loading import import_file
from batchwise.wire import build_frame, read_message

UPPER = """
    from typing import List
    def upper(texts: List[str]) -> List[str]:
        return [text.upper() for text in texts]
"""


def header_of(process: Any) -> Any:
    return process.receive().header


def test_a_batch_of_texts_runs_without_numpy(start: Any) -> None:
    process = start("import sys\nsys.modules['numpy'] = None\n" + UPPER.replace("\n    ", "\n"))
    assert header_of(process) == {
        "kind": "ready",
        "version": 1,
        "platform": "python",
        "concurrency": 1,
        "inputs": [{"name": "texts", "datatype": "BYTES", "shape": [-1]}],
        "outputs": [{"name": "output", "datatype": "BYTES", "shape": [-1]}],
        "tensors": [],
    }
    message = process.infer(texts("texts", ["a", "", "ü"]))
    assert message.header == {
        "kind": "result",
        "id": 1,
        "tensors": [{"name": "output", "datatype": "BYTES", "shape": [3], "bytes": 15}],
        "errors": [],
    }
    assert value_of(message) == [b"A", b"", "Ü".encode()]
    assert process.close() == ""


def test_the_example_is_sent_with_ready(start: Any) -> None:
    np = pytest.importorskip("numpy")
    process = start(
        """
        import numpy as np
        class Model:
            example = {"x": np.arange(6, dtype=np.int64).reshape(2, 3), "t": ["a", "b"]}
            def predict(self, x, t):
                x += 1
                return {"sum": x.sum(axis=1), "text": t}
        """
    )
    message = process.receive()
    assert message.header["outputs"] == [
        {"name": "sum", "datatype": "INT64", "shape": [-1]},
        {"name": "text", "datatype": "BYTES", "shape": [-1]},
    ]
    assert [tensor["shape"] for tensor in message.header["tensors"]] == [[2, 3], [2]]
    assert value_of(message).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value_of(message, 1) == [b"a", b"b"]
    x, t = np.ones((3, 3), np.int64), texts("t", ["x", "y", "z"])
    message = process.infer(t, numbers("x", x))
    assert value_of(message).tolist() == [6, 6, 6]
    assert value_of(message, 1) == [b"x", b"y", b"z"]
    message = process.infer(t, numbers("x", x), outputs=["text"])
    assert [tensor["name"] for tensor in message.header["tensors"]] == ["text"]


BESIDE = "def echo(items): return items\nclass Library:\n  def predict(self, items): return items"

STARTS = {
    "a variable `model`": ("model = lambda items: ['variable' for _ in items]\ndef other(items): pass", ""),
    "a class `Model`": ("class Model:\n  def predict(self, items): return ['x' for _ in items]\nclass Other(Model): pass", ""),
    "the only class": ("class Any:\n  def predict(self, items): return items\ndef helper(x): pass", ""),
    "the only object": ("class _Any:\n  def predict(self, items): return items\nthing = _Any()\ndef helper(x): pass", ""),
    "an object of a class of the file": (
        "class _Any:\n  def predict(self, items): return items\nmodel = _Any()\ndef helper(x): pass",
        "",
    ),
    "an object of a helper of batchwise": (
        "import batchwise.wrappers as w\nfrom batchwise import Signature, Tensor\ndef network(items): return items\n"
        "model = w.Wrapped(network, Signature([Tensor('items', 'BYTES', [-1], 'json')]))",
        "",
    ),
    "a part of a function": (
        "import functools\ndef echo(items, prefix): return items\nmodel = functools.partial(echo, prefix='a')",
        "",
    ),
    "a named object beside a function": ("import beside\nmodel = beside.Library()\ndef other(x): pass", ":model"),
    "the only function": ("from os.path import join\ndef _helper(x): pass\ndef echo(items): return items", ""),
    "a name": ("def one(items): return items\ndef two(items): return items", ":two"),
    "a callable object": ("class Any:\n  def __call__(self, items): return items\nmodel = Any()", ""),
    "an import beside the file": ("import beside\nmodel = beside.echo", ""),
    "sys.argv": ("import sys\nassert sys.argv == ['model.py']\ndef echo(items): return items", ""),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_model_is_found(start: Any, tmp_path: Path, case: str) -> None:
    source, name = STARTS[case]
    (tmp_path / "beside.py").write_text(BESIDE)
    process = start(source, name=name)
    header = header_of(process)
    assert header["kind"] == "ready", header
    assert process.infer(jsons("items", [1, 2])).header["kind"] == "result"
    process.close()


CHOICES = {
    "the class Any": "class Any:\n  def predict(self, items): return items\ndef helper(x): pass",
    "the function echo": "def echo(items): return items",
    "the object model (Library)": "import beside\nmodel = beside.Library()",
}


@pytest.mark.parametrize("choice", CHOICES)
def test_the_chosen_object_is_in_the_log(start: Any, tmp_path: Path, choice: str) -> None:
    (tmp_path / "beside.py").write_text(BESIDE)
    process = start(CHOICES[choice])
    process.receive()
    process.send(build_frame({"kind": "close"}))
    _, errors = process.process.communicate(timeout=TIMEOUT_SECONDS)
    assert errors == f"batchwise: the model of model.py is {choice}\n"


AMBIGUOUS = [
    ("model", "Library", "from beside import Library as _Library\nmodel = _Library()"),
    ("forest", "Library", "from beside import Library as _Library\nforest = _Library()"),
    ("model", "_Network", "class _Network:\n  def __call__(self, x): return x\nmodel = _Network()"),
]


@pytest.mark.parametrize("name, kind, source", AMBIGUOUS)
def test_an_object_that_a_function_may_call_is_ambiguous(
    start: Any, tmp_path: Path, name: str, kind: str, source: str
) -> None:
    # The object was served, and the function that calls it was never called; nothing said so.
    (tmp_path / "beside.py").write_text(BESIDE)
    process = start(f"{source}\ndef classify(rows): return {name}.predict(rows)")
    header = header_of(process)
    assert header["message"] == (
        f"model.py has the object {name} ({kind}) and the function classify. "
        f"Choose one: model.py:{name}, model.py:classify. Or begin the other names with _"
    )


FAILURES = {
    "syntax": ("def f(:", "", "model", r"^model.py, line 1: "),
    "an exception": ("x = 1\nraise ValueError('a\\nb')", "", "model", r"^the import failed: ValueError: a b \(model.py, line 2\)$"),
    "sys.exit": ("import sys\nsys.exit(3)", "", "model", r"^the import called sys.exit\(3\) \(model.py, line 2\)$"),
    "a missing package": (
        "import cv2_missing.sub",
        "",
        "environment",
        r"^No module named 'cv2_missing'\. Install it .*python.* -m pip install cv2_missing \(model.py, line 1\)$",
    ),
    "a package with another name": (
        "raise ModuleNotFoundError('x', name='sklearn.tree')",
        "",
        "environment",
        "-m pip install scikit-learn",
    ),
    "a missing submodule": ("import json.missing", "", "environment", "installed json has no such module"),
    "no model": ("x = 1", "", "model", "has no model: expected a class with a predict method, or a function"),
    "several functions": (
        "def a(x): pass\ndef b(x): pass",
        "",
        "model",
        r"has several models\. Choose one: model.py:a, model.py:b$",
    ),
    "several classes": (
        "class A:\n  def predict(self, x): pass\nclass B(A): pass",
        "",
        "model",
        r"Choose one: model.py:A, model.py:B$",
    ),
    "an unknown name": ("def a(x): pass", ":b", "model", r"has no b\. Choose one: model.py:a$"),
    "not a model": ("model = {}", "", "model", "object of type dict: expected a class or object with a predict method"),
    "a constructor": (
        "class Model:\n  def __init__(self, path): pass\n  def predict(self, x): pass",
        "",
        "model",
        r"Model\(\) failed, called without arguments: TypeError: .*path",
    ),
    "a constructor that needs a package": (
        "class Model:\n  def __init__(self): import missing\n  def predict(self, x): pass",
        "",
        "environment",
        "No module named 'missing'",
    ),
    "an example": (
        "class Model:\n  example = [1]\n  def predict(self, x): return [1, 2]",
        "",
        "model",
        r"predict\(example\) returned 2 rows for 1 row of input: expected one result per row",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_start_says_why(start: Any, case: str) -> None:
    source, name, reason, expected = FAILURES[case]
    process = start(source, name=name)
    header = header_of(process)
    assert (header["kind"], header["reason"]) == ("failed", reason)
    assert re.search(expected, header["message"]), header["message"]
    assert "\n" not in header["message"]
    assert str(PACKAGE) not in header.get("traceback", ""), header["traceback"]
    assert read_message(process.socket) is None
    assert process.process.wait(TIMEOUT_SECONDS) == 1


def test_a_failed_start_has_the_traceback_of_the_model(start: Any) -> None:
    header = header_of(start("def f():\n  raise ValueError('x\\ny')\nf()"))
    assert 'model.py", line 2, in f' in header["traceback"]
    assert header["traceback"].endswith("\nValueError: x\ny")


# The traceback follows the message, and ended with the same line.
def test_a_failed_start_has_the_text_of_its_exception_once(start: Any) -> None:
    header = header_of(start("class Model:\n  def __init__(self): raise ValueError('only once')\n  def predict(self, x): pass"))
    assert header["message"] == "Model() failed, called without arguments: ValueError: only once"
    assert "in __init__" in header["traceback"] and "ValueError: only once" not in header["traceback"]
    header = header_of(start("class Model:\n  def __init__(self, path): pass\n  def predict(self, x): pass"))
    assert "missing 1 required positional argument" in header["message"]
    assert "traceback" not in header


# The command created `.venv` in the working directory, and the server looks for it beside the model.
def test_the_hint_for_a_missing_package_names_the_folder_of_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", "/usr/bin/python3")
    (tmp_path / "a b").mkdir()
    model = tmp_path / "a b" / "needs_a_package.py"
    model.write_text("import missing_package")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("batchwise.errors.model_directory", "")
    for is_managed in (True, False):
        monkeypatch.setattr("batchwise.errors._is_externally_managed", lambda: is_managed)
        with pytest.raises(StartError) as raised:
            import_file("a b/needs_a_package.py")
        sys.modules.pop("needs_a_package")
        folder = f"{tmp_path}/a b/.venv"
        expected = (
            f"/usr/bin/python3 -m venv '{folder}' && '{folder}/bin/python' -m pip install missing_package"
            if is_managed
            else "Install it with: /usr/bin/python3 -m pip install missing_package"
        )
        assert expected in str(raised.value)


@pytest.mark.parametrize("file, expected", [("json.py", "hides the Python module json"), ("torch.py", "hides"), ("model.txt", ".py")])
def test_a_file_with_an_unsuitable_name_is_refused(start: Any, file: str, expected: str) -> None:
    assert expected in header_of(start("def f(x): pass", file=file))["message"]


def test_a_missing_file_is_reported(start: Any) -> None:
    assert "other.py does not exist" in header_of(start("", file="model.py", name="/../other.py"))["message"]


def test_an_old_interpreter_reports_its_version(tmp_path: Path) -> None:
    # The check runs with a pretended version: the file has the syntax of Python 2.7.
    source = (
        "import sys, runpy\nsys.version_info = (3, 7, 3, 'final', 0)\n"
        f"sys.argv = ['batchwise', 'model.py', '--fd', '1']\nsys.path.insert(0, {str(PACKAGE)!r})\n"
        "runpy.run_module('batchwise', run_name='__main__', alter_sys=True)"
    )
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, timeout=TIMEOUT_SECONDS)
    assert ended.returncode == 1
    assert ended.stdout[:4] == b"BWM1" and len(ended.stdout) % 8 == 0
    header = json.loads(ended.stdout[16:])
    assert header == {
        "kind": "failed",
        "reason": "environment",
        "message": f"Python 3.9 or newer is needed, this is 3.7.3 at {sys.executable}. Select a newer "
        "interpreter or the folder of a virtual environment: BATCHWISE__RUNNERS__PYTHON=<path> for `batchwise serve`, or "
        "`runners: { python: <path> }` in its configuration file",
    }
    # The message was in the log as well, so that the server printed it twice.
    assert ended.stderr == b""
    ended = subprocess.run(
        [sys.executable, "-c", source.replace(", '--fd', '1'", "")], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"Python 3.9 or newer is needed, this is 3.7.3 at {sys.executable}\n"


def test_prints_go_to_standard_output_line_by_line(start: Any) -> None:
    process = start(
        """
        import os, sys
        print("importing é")
        def predict(items):
            print("predict", len(items))
            print("warning", file=sys.stderr)
            os.system("echo child")
            return items
        """
    )
    process.receive()
    assert process.process.stdout.readline() == "importing é\n"
    process.infer(jsons("items", [1, 2]))
    assert process.process.stdout.readline() == "predict 2\n"
    assert process.process.stdout.readline() == "child\n"
    assert "is the function predict" in process.process.stderr.readline()
    assert process.process.stderr.readline() == "warning\n"
    process.close()


def test_children_of_the_model_do_not_inherit_the_socket(start: Any) -> None:
    process = start(
        """
        import os, subprocess, sys
        def predict(items):
            fd = [int(name) for name in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{name}").find("socket") >= 0]
            forked = os.fork()
            if forked == 0:
                open_in_child = [f for f in fd if os.path.exists(f"/proc/self/fd/{f}")]
                os._exit(len(open_in_child))
            code = os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
            spawned = subprocess.run([sys.executable, "-c", f"import os; os.fstat({fd[0]})"], close_fds=False, stderr=subprocess.DEVNULL)
            return [[len(fd), code, spawned.returncode]]
        """
    )
    process.receive()
    assert value_of(process.infer(jsons("items", [1]))) == [b"[1,0,1]"]


BLOCKED = """
    import sys, threading
    def predict(items):
        print("running", flush=True)
        threading.Event().wait()
"""


def test_the_end_of_the_stream_ends_a_process_whose_model_hangs(start: Any) -> None:
    process = start(BLOCKED)
    process.receive()
    process.send(infer(1, jsons("items", [1])))
    assert process.process.stdout.readline() == "running\n"
    process.socket.close()
    assert process.process.wait(TIMEOUT_SECONDS) == 0


def test_the_end_of_the_stream_ends_a_process_that_imports(start: Any) -> None:
    process = start("import threading\nprint('importing', flush=True)\nthreading.Event().wait()")
    assert process.process.stdout.readline() == "importing\n"
    process.socket.close()
    assert process.process.wait(TIMEOUT_SECONDS) == 0


def test_sigint_is_ignored(start: Any) -> None:
    process = start("import os, signal\ndef predict(items):\n  os.kill(os.getpid(), signal.SIGINT)\n  return items")
    process.receive()
    process.process.send_signal(signal.SIGINT)
    assert process.infer(jsons("items", [1])).header["kind"] == "result"
    process.close()


def test_close_finishes_the_batches_and_closes_the_model(start: Any) -> None:
    process = start(
        """
        import sys
        class Model:
            def predict(self, items):
                sys.stdin.read()
                return items
            def close(self):
                print("closed")
        """
    )
    process.receive()
    for batch_id in range(5):
        process.send(infer(batch_id, jsons("items", [batch_id])))
    process.send(build_frame({"kind": "close"}))
    assert [header_of(process)["id"] for _ in range(5)] == [0, 1, 2, 3, 4]
    assert read_message(process.socket) is None
    assert process.process.communicate(timeout=TIMEOUT_SECONDS)[0] == "closed\n"
    assert process.process.returncode == 0


@pytest.mark.parametrize(
    "frame, expected",
    [
        (b"GET / HTTP/1.1\r\n\r\n", "magic"),
        (b"".join(map(bytes, build_frame({"kind": "other"}))), "expected a message of kind infer or close, got 'other'"),
        (b"".join(map(bytes, build_frame({"kind": "infer"}))), "without an id"),
        (b"".join(map(bytes, infer(1, ({"name": "items", "datatype": "BYTES", "shape": [2], "bytes": 8}, bytes(8))))), None),
        (
            b"".join(map(bytes, infer(1, ({"name": "items", "datatype": "BYTES", "shape": [2], "bytes": 9}, bytes(9))))),
            "does not fill its 9 bytes",
        ),
    ],
)
def test_a_protocol_error_ends_the_process(start: Any, frame: bytes, expected: Any) -> None:
    process = start("def predict(items): return items")
    process.receive()
    process.socket.sendall(frame)
    if expected is None:  # two empty elements: not valid JSON, but a valid frame
        assert [error["code"] for error in header_of(process)["errors"]] == ["INVALID_ITEM"] * 2
        return
    assert read_message(process.socket) is None
    _, errors = process.process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.process.returncode == 1
    assert "protocol error" in errors and expected in errors


def test_a_batch_after_close_is_a_protocol_error(start: Any) -> None:
    process = start(BLOCKED)
    process.receive()
    process.send(infer(1, jsons("items", [1])))
    process.send(build_frame({"kind": "close"}))
    process.send(infer(2, jsons("items", [1])))
    assert process.process.wait(TIMEOUT_SECONDS) == 1


BARRIER = {
    "threads": """
        import threading
        barrier = threading.Barrier(3)
        def predict(items):
            barrier.wait(30)
            return [threading.current_thread() is not threading.main_thread() for _ in items]
    """,
    "async": """
        import asyncio
        running = 0
        event = asyncio.Event()
        async def predict(items):
            global running
            running += 1
            if running == 3: event.set()
            await asyncio.wait_for(event.wait(), 30)
            return [True for _ in items]
    """,
}


@pytest.mark.parametrize("kind", BARRIER)
def test_concurrency_runs_several_batches_at_the_same_time(start: Any, kind: str) -> None:
    if kind == "async" and sys.version_info < (3, 10):
        pytest.skip("asyncio.Event belongs to the loop of its creation before Python 3.10")
    process = start(BARRIER[kind], "--concurrency", "3")
    assert header_of(process)["concurrency"] == 3
    for batch_id in range(3):
        process.send(infer(batch_id, jsons("items", [1])))
    messages = [process.receive() for _ in range(3)]
    assert sorted(message.header["id"] for message in messages) == [0, 1, 2]
    assert [value_of(message) for message in messages] == [[b"true"]] * 3
    process.close()


def test_concurrency_1_runs_on_the_main_thread(start: Any) -> None:
    process = start("import threading\ndef predict(items):\n  return [threading.current_thread() is threading.main_thread()]")
    process.receive()
    assert value_of(process.infer(jsons("items", [1]))) == [b"true"]


def test_an_async_model_fails_and_closes_like_another(start: Any) -> None:
    process = start(
        """
        import asyncio, sys
        class Model:
            example = ["example"]
            async def predict(self, items):
                await asyncio.sleep(0)
                self.loop = asyncio.get_running_loop()
                if items == ["exit"]: sys.exit(1)
                if items == ["cancel"]: raise asyncio.CancelledError()
                return items
            async def close(self):
                print("closed", self.loop is asyncio.get_running_loop())
        """
    )
    assert header_of(process)["outputs"] == [{"name": "output", "datatype": "BYTES", "shape": [-1]}]
    assert process.infer(texts("items", ["exit"])).header["message"] == "SystemExit: 1"
    assert process.infer(texts("items", ["cancel"])).header["message"] == "CancelledError"
    assert value_of(process.infer(texts("items", ["a"]))) == [b"a"]
    assert process.close() == "closed True\n"


def test_the_package_does_not_import_numpy() -> None:
    source = "import sys, batchwise, batchwise.process; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", source], check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
