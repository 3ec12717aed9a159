"""The errors of this package, and how an exception is described to the server."""
from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import sysconfig
import traceback as tracebacks
from types import TracebackType
from typing import Optional

PACKAGE_DIRECTORY = os.path.dirname(os.path.abspath(__file__)) + os.sep

# A frame header has at most 1 MiB; both parts of an error must fit.
MAX_MESSAGE_CHARACTERS = 4_000
MAX_TRACEBACK_CHARACTERS = 64_000

# Of the file that `batchwise serve` runs, which looks for `.venv` there.
model_directory = ""

# Distributions whose name differs from the name of the import.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "faiss": "faiss-cpu",
    "google.protobuf": "protobuf",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "yaml": "pyyaml",
}


class InvalidItem(ValueError):
    """The input is invalid; clients see the message.

    Raise it for the whole batch, or return it in the place of a row's result to fail only this row.
    """


class BadResult(Exception):
    """The result of `predict` does not match the signature."""


class ProtocolError(Exception):
    """The bytes received are not a valid frame; the connection is closed."""


class StartError(Exception):
    """The model cannot be served. `reason` is `model` or `environment`."""

    def __init__(self, message: str, cause: Optional[BaseException] = None, reason: str = "model") -> None:
        super().__init__(message)
        self.reason = reason
        self.traceback = _without_last_line(traceback_of(cause), message, cause) if cause is not None else None


def _without_last_line(traceback: str, message: str, cause: BaseException) -> Optional[str]:
    """The traceback, which follows the message, without the line of the exception if the message has it already."""
    lines = traceback.splitlines()
    line = one_line(cause)
    if lines and lines[-1].endswith(line) and line in message:
        lines.pop()
    return "\n".join(lines) or None


def text_of(error: BaseException, default: Optional[str] = None) -> str:
    """`str(error)`. If `__str__` itself raises, it is the default, or the name of the type."""
    try:
        return str(error)
    except BaseException:
        return type(error).__name__ if default is None else default


def one_line(error: BaseException) -> str:
    """`ValueError: text`, on one line."""
    text = " ".join(text_of(error, "").split())
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:MAX_MESSAGE_CHARACTERS]


def traceback_of(error: BaseException) -> str:
    """The traceback from the first frame that belongs to the model."""
    try:
        frames: Optional[TracebackType] = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename.startswith((PACKAGE_DIRECTORY, "<frozen ")):
            frames = frames.tb_next
        text = "".join(tracebacks.format_exception(type(error), error, frames))
    except BaseException as failure:  # raised by a method of the exception
        return f"The traceback cannot be formatted: {type(failure).__name__}"
    return text[-MAX_TRACEBACK_CHARACTERS:]


def log(text: str) -> None:
    """Write to standard error. A model that has closed it changes nothing else."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except Exception:
        pass


def missing_module(name: str) -> str:
    """The message for a module that cannot be imported, with the command that installs it."""
    top = name.partition(".")[0]
    message = f"No module named {name!r}."
    if name != top and top in sys.modules:
        return f"{message} The installed {top} has no such module; its version may be too old or too new."
    package = DISTRIBUTIONS.get(name) or DISTRIBUTIONS.get(top, top)
    if _is_externally_managed():
        # PEP 668: pip refuses to install into the interpreter of the operating system.
        folder = os.path.join(model_directory, ".venv")
        python = os.path.join(folder, "bin", "python")
        command = f"{shlex.quote(sys.executable)} -m venv {shlex.quote(folder)} && {shlex.quote(python)}"
        return f"{message} Install it in a virtual environment: {command} -m pip install {package}"
    return f"{message} Install it with: {shlex.quote(sys.executable)} -m pip install {package}"


def _is_externally_managed() -> bool:
    if sys.prefix != sys.base_prefix:
        return False
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return os.path.exists(marker) or importlib.util.find_spec("pip") is None
