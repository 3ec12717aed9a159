/** Python models for the tests, and the processes that run them. */
import { readdirSync, readFileSync } from 'node:fs';
import { findProgram, testPrograms } from '../../../../../scripts/test-programs.js';

/** With numpy, scikit-learn and pytest. */
export function pythonWithPackages(): string {
  const python = findProgram(testPrograms.python);
  if (python === undefined) throw new Error('There is no Python for the tests: run npm test.');
  return python;
}

/** The settings of a server whose Python models use this interpreter. */
export const pythonEnv = () => ({ BATCHWISE__RUNNERS__PYTHON: pythonWithPackages() });

/** A class with an example. */
export const IRIS = `
import numpy as np

class Iris:
    example = np.zeros((1, 4), np.float32)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return rows @ np.array([[1, 0], [0, 1], [1, 0], [0, 1]], np.float32)
`;

/** A function over JSON items. An item without a text fails alone. */
export const TEXT = `
import os
import batchwise

def describe(items: list[dict]) -> list[dict]:
    return [
        {"length": len(item["text"]), "pid": os.getpid(), "batch": len(items)}
        if "text" in item else batchwise.InvalidItem("text is missing")
        for item in items
    ]
`;

/** Two inputs and two outputs. */
export const PAIR = `
import numpy as np

class Pair:
    example = {"left": np.zeros((1, 2), np.float32), "right": np.zeros((1, 2), np.float32)}

    def predict(self, left, right):
        return {"sum": left + right, "larger": (left > right).any(axis=1)}
`;

/** Creates the file `began` for each batch, and never returns. Ignores signals, and has a child process. */
export const STUBBORN = `
import pathlib, signal, subprocess, time

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"])

def predict(items: list) -> list:
    pathlib.Path("began").touch()
    while True:
        time.sleep(600)
`;

/** Creates the file `loading`, and never becomes ready. */
export const SLOW_TO_LOAD = `
import pathlib, signal, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path("loading").touch()
time.sleep(600)

def predict(items: list) -> list:
    return items
`;

/** The processes of Python models, and their children, of the server with this folder for temporary files. */
export function modelPids(folder: string, command = /-m\0batchwise\0/): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      if (!command.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) return false;
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`TMPDIR=${folder}`);
    } catch {
      return false; // it has ended
    }
  });
}
