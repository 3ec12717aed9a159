/**
 * Copies the Python package into @batchwise/runners, which npm packs. Part of the build and not of a `prepack` script:
 * with `ignore-scripts`, npm would pack and publish the package without it.
 */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../python/batchwise', import.meta.url));
const runners = fileURLToPath(new URL('../packages/runners', import.meta.url));
const target = join(runners, 'python');

// Models may be served meanwhile: their processes find the whole copy or none.
const folder = mkdtempSync(join(runners, '.python-'));
try {
  const isSource = (/** @type {string} */ path) => !path.includes('__pycache__');
  cpSync(source, join(folder, 'new/batchwise'), { recursive: true, filter: isSource });
  if (existsSync(target)) renameSync(target, join(folder, 'old'));
  renameSync(join(folder, 'new'), target);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
