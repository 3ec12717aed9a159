/**
 * Installs the tools of test/consumers: what users of the packages have, such as Jest, Bun, Deno and other versions of
 * Node. `npm test` and CI need them; a checkout that only runs Batchwise does not.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../test/consumers/', import.meta.url));
const marker = join(folder, 'node_modules/.installed');
const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');

if (!existsSync(marker) || readFileSync(marker, 'utf8') !== lock) {
  console.log(
    'The tests need Jest, Bun, Deno, Node 22 and 24: installing them with npm, half a minute or so.',
  );
  const options = ['ci', '--silent', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', options, {
    cwd: folder,
    stdio: 'inherit',
    // On Windows, npm is a script.
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(1);
  writeFileSync(marker, lock);
}
