/** Python models in temporary files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';

/** An interpreter with numpy. */
export const PYTHON = findProgram(testPrograms.python) as string;

/** Writes `model.py` to a new folder, which is removed with the test. Returns its path. */
export function pythonFile(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-python-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'model.py');
  writeFileSync(file, source);
  return file;
}
