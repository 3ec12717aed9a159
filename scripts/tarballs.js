/**
 * Packs all packages, for installation elsewhere: `npm run tarballs -- ~/batchwise`. The ready-made batchers go to the
 * folder `integrations` in it, because each of them needs its driver.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const [argument] = process.argv.slice(2);
if (argument === undefined) {
  console.error('Expected a folder: npm run tarballs -- ~/batchwise');
  process.exit(2);
}
// npm runs scripts in the root, and names the folder of the caller.
const folder = resolve(process.env.INIT_CWD ?? process.cwd(), argument);
pack('packages', folder);
pack('packages/integrations', join(folder, 'integrations'));

/**
 * @param {string} from
 * @param {string} to
 */
function pack(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(to)) if (/^batchwise-.*\.tgz$/.test(name)) rmSync(join(to, name));
  const packages = readdirSync(join(root, from))
    .filter((name) => existsSync(join(root, from, name, 'package.json')))
    .map((name) => `./${from}/${name}`);
  const options = ['--silent', '--pack-destination', to];
  const { status } = spawnSync('npm', ['pack', ...options, ...packages], {
    cwd: root,
    stdio: 'inherit',
    // On Windows, npm is a script.
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(1);
}
