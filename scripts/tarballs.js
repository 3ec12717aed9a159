/**
 * Packs all packages, for installation elsewhere: `npm run tarballs -- ~/batchwise`. The ready-made batchers go to the
 * folder `integrations` in it, because each of them needs its driver.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Expected a folder: npm run tarballs -- ~/batchwise');
  process.exit(2);
}
pack('packages', resolve(folder));
pack('packages/integrations', resolve(folder, 'integrations'));

/**
 * @param {string} from
 * @param {string} to
 */
function pack(from, to) {
  mkdirSync(to, { recursive: true });
  const packages = readdirSync(from)
    .filter((name) => existsSync(join(from, name, 'package.json')))
    .map((name) => `./${from}/${name}`);
  const options = ['--silent', '--pack-destination', to];
  const { status } = spawnSync('npm', ['pack', ...options, ...packages], {
    stdio: 'inherit',
    // On Windows, npm is a script.
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(1);
}
