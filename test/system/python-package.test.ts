/** The tests of the Python package, run by its own test runner. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';

test('the tests of the Python package pass', () => {
  const python = findProgram(testPrograms.python);
  expect(python, 'Python with pytest; see scripts/test-requirements.js').toBeDefined();
  const { status, stdout, stderr } = spawnSync(
    python ?? '',
    ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests'],
    { cwd: fileURLToPath(new URL('../../python', import.meta.url)), encoding: 'utf8' },
  );
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
});
