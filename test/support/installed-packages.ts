/** The packages as their users install them, in a folder outside of the repository. Uses the build. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

export interface InstalledPackage {
  readonly name: string;
  /** `batchwise`, `batchwise/internal`; empty for a package that has only a command. */
  readonly entries: readonly string[];
  readonly folder: string;
  readonly tarball: string;
}

/** The folders of all packages, relative to the root. */
export const packageFolders: readonly string[] = ['packages', 'packages/integrations']
  .flatMap((group) => readdirSync(join(root, group)).map((name) => join(group, name)))
  .filter((folder) => existsSync(join(root, folder, 'package.json')));

/** Unpacks the tarballs of `npm run tarballs` into `folder/node_modules`. */
export async function installPackages(folder: string): Promise<InstalledPackage[]> {
  const tarballs = join(folder, 'tarballs');
  await run(process.execPath, ['scripts/tarballs.js', tarballs], { cwd: root });
  return Promise.all(
    packageFolders.map(async (source) => {
      const { name, version, exports } = JSON.parse(readFileSync(join(root, source, 'package.json'), 'utf8'));
      const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
      const tarball = join(tarballs, source.includes('integrations') ? 'integrations' : '', file);
      const target = join(folder, 'node_modules', name);
      mkdirSync(target, { recursive: true });
      await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
      const entries = Object.keys(exports).filter((path) => path !== './package.json');
      return { name, entries: entries.map((path) => name + path.slice(1)), folder: target, tarball };
    }),
  );
}

/** Packages of others, as they are installed in the repository or in test/consumers. */
export function linkPackages(
  folder: string,
  { from = root, except = [] }: { from?: string; except?: readonly string[] } = {},
): void {
  const modules = join(from, 'node_modules');
  for (const name of readdirSync(modules)) {
    const target = join(folder, 'node_modules', name);
    const isOurs = name === '@batchwise' || name === 'batchwise';
    if (name.startsWith('.') || isOurs || except.includes(name) || existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(modules, name), target);
  }
}
