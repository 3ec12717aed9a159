"""`python -m batchwise model.py[:Name] --fd 3 [--concurrency N]`: the process that `batchwise serve` starts.

The syntax of this file is that of Python 2.7, so that an old interpreter can report itself.
"""
import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the working directory, whose files may have the names of standard modules

import json
import os
import struct


def report_old_python(argv):  # type: ignore[no-untyped-def]
    version = ".".join(str(part) for part in sys.version_info[:3])
    message = "Python 3.9 or newer is needed, this is %s at %s" % (version, sys.executable)
    if "--fd" not in argv[:-1]:
        sys.stderr.write(message + "\n")
        return 1
    message += (
        ". Select a newer interpreter or the folder of a virtual environment: BATCHWISE__RUNNERS__PYTHON=<path> for"
        " `batchwise serve`, or `runners: { python: <path> }` in its configuration file"
    )
    header = json.dumps({"kind": "failed", "reason": "environment", "message": message}).encode("utf-8")
    header += b" " * (-len(header) % 8)
    frame = struct.pack("<4sIQ", b"BWM1", len(header), 0) + header
    while frame:
        frame = frame[os.write(int(argv[argv.index("--fd") + 1]), frame) :]
    return 1


if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit(report_old_python(sys.argv))

    os.environ.pop("PYTHONSAFEPATH", None)  # set by the server for this process, not for programs that the model starts
    from batchwise.process import main

    sys.exit(main(sys.argv[1:]))
