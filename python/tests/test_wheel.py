"""The wheel, built without a network and used in another process."""
from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import PACKAGE, TIMEOUT_SECONDS

MISSING = [name for name in ("pip", "setuptools", "wheel") if importlib.util.find_spec(name) is None]

SERVE = """
import batchwise, os, socket, sys
assert batchwise.__file__.startswith(sys.argv[1]), batchwise.__file__
from batchwise.wire import read_message
with batchwise.Server(lambda items: items, os.path.join(sys.argv[1], "s")) as server:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(server.path)
        print(read_message(client).header["kind"])
"""


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_the_wheel_is_built_and_serves(tmp_path: Path) -> None:
    # license = "MIT" needs setuptools 77; with the version of the operating system the build failed.
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__", ".*"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(tmp_path)]
    built = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("batchwise-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    modules = {f"batchwise/{file.name}" for file in (PACKAGE / "batchwise").glob("*.py")}
    assert {*modules, "batchwise/py.typed"} <= set(names)
    site = str(tmp_path / "site")
    served = subprocess.run(
        [sys.executable, "-c", SERVE, site],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": site},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert (served.stdout, served.returncode) == ("ready\n", 0), served.stderr
