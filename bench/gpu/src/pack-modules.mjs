/**
 * Copies the batchwise command with all it needs at run time into a folder: `node pack-modules.mjs <folder>`.
 * Packages of the workspace are taken as built; type declarations, source maps and what a served upstream never
 * loads (ONNX Runtime, the pages of Swagger UI) are left out.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const [target] = process.argv.slice(2);
const LEFT_OUT = new Set(['onnxruntime-node', 'onnxruntime-common']);
/** Asked for its version when the server starts; the pages are read when somebody looks at /docs. */
const MANIFEST_ONLY = new Set(['@fastify/swagger-ui']);
const NEVER = /(\.[cm]?ts|\.map|\.md|\.tsbuildinfo)$|^node_modules$/;
const OF_WORKSPACE = /(\.d\.ts|\.map|\.md|\.tsbuildinfo)$|^(test|src|node_modules)$/;

const taken = new Set();
take('@batchwise/cli', ROOT);
cpSync(join(ROOT, 'python/batchwise'), join(target, 'node_modules/@batchwise/runners/python/batchwise'), {
  recursive: true,
  filter: (source) => !source.endsWith('__pycache__'),
});
process.stdout.write(`${[...taken].sort().join(' ')}\n`);

/** A package and all it depends on, each found from where it is needed, and put where it was found. */
function take(name, from) {
  const folder = LEFT_OUT.has(name) ? undefined : folderOf(name, from);
  if (folder === undefined) return;
  const place = relative(ROOT, folder).startsWith('packages')
    ? join('node_modules', name)
    : relative(ROOT, folder);
  if (taken.has(place)) return;
  taken.add(place);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  copy(name, folder, join(target, place));
  for (const other of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    take(other, folder);
  }
}

function copy(name, folder, to) {
  mkdirSync(to, { recursive: true });
  if (MANIFEST_ONLY.has(name)) {
    cpSync(join(folder, 'package.json'), join(to, 'package.json'));
    return;
  }
  const unwanted = relative(ROOT, folder).startsWith('packages') ? OF_WORKSPACE : NEVER;
  cpSync(folder, to, {
    recursive: true,
    dereference: true,
    filter: (source) => {
      const path = relative(folder, source);
      return path === '' || !isUnwanted(path, unwanted);
    },
  });
}

/** A file by its name, a folder only where it is the package's own. */
function isUnwanted(path, unwanted) {
  const [first = '', ...rest] = path.split('/');
  return rest.length === 0 ? unwanted.test(first) : /\.\w+$/.test(path) && unwanted.test(path);
}

function folderOf(name, from) {
  for (let at = realpathSync(from); ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return realpathSync(folder);
    if (at === dirname(at)) return undefined;
  }
}
