/**
 * Adds a CommonJS build to every package that can be imported, from its compiled ES modules: `dist/cjs`, with one file
 * of code for all entry points, so that they share their classes, and the same declarations.
 *
 * Node never loads it: the condition `module-sync` gives `require()` the ES modules. It is for tools without that
 * condition, such as Jest and TypeScript with `node16`. Decision 029.
 */
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const packages = fileURLToPath(new URL('../packages/', import.meta.url));
const folders = ['.', 'integrations']
  .flatMap((group) => readdirSync(join(packages, group)).map((name) => join(packages, group, name)))
  .filter((folder) => existsSync(join(folder, 'package.json')) && entriesOf(folder).length > 0);

await Promise.all(folders.filter(isStale).map(buildCommonJs));

/**
 * The entry points of a package: `index`, `internal`.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function entriesOf(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.values(exports)
    .filter((target) => typeof target === 'object')
    .map((target) => basename(target.default, '.js'));
}

/**
 * tsc writes only the files that change, and removes none.
 *
 * @param {string} folder
 */
function isStale(folder) {
  const dist = join(folder, 'dist');
  for (const file of filesOf(dist).filter((path) => !hasSource(folder, path))) {
    for (const path of [file, `${file}.map`]) rmSync(path, { force: true });
  }
  const marker = join(dist, 'cjs/package.json');
  if (!existsSync(marker)) return true;
  const built = statSync(marker).mtimeMs;
  const inputs = [join(folder, 'package.json'), fileURLToPath(import.meta.url), ...filesOf(dist)];
  const declarations = readdirSync(join(dist, 'cjs'), { recursive: true, encoding: 'utf8' });
  return (
    inputs.some((file) => statSync(file).mtimeMs > built) ||
    declarations.some((path) => path.endsWith('.d.ts') && !existsSync(join(dist, path)))
  );
}

/**
 * @param {string} folder
 * @param {string} file
 */
function hasSource(folder, file) {
  const source = join(folder, 'src', relative(join(folder, 'dist'), file).replace(/\.(js|d\.ts)$/, ''));
  return existsSync(`${source}.ts`) || existsSync(`${source}.tsx`);
}

/** @param {string} folder */
async function buildCommonJs(folder) {
  const started = new Date();
  const dist = join(folder, 'dist');
  const target = join(dist, `.cjs-${process.pid}`);
  const entries = entriesOf(folder);
  await build({
    stdin: {
      contents: entries.map((entry) => `export * as ${entry} from './${entry}.js';`).join('\n'),
      resolveDir: dist,
    },
    outfile: join(target, 'all.js'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    logLevel: 'warning',
    banner: {
      js: "const moduleUrl = (path) => new URL(path, require('node:url').pathToFileURL(__dirname)).href;",
    },
    plugins: [keepModuleUrls(dist)],
  });
  for (const entry of entries) {
    writeFileSync(join(target, `${entry}.js`), `module.exports = require('./all.js').${entry};\n`);
  }
  for (const file of filesOf(dist).filter((path) => path.endsWith('.d.ts'))) {
    cpSync(file, join(target, relative(dist, file)));
  }
  const marker = join(target, 'package.json');
  writeFileSync(marker, '{ "type": "commonjs" }\n');
  // What tsc writes meanwhile is newer.
  utimesSync(marker, started, started);
  rmSync(join(dist, 'cjs'), { recursive: true, force: true });
  renameSync(target, join(dist, 'cjs'));
}

/**
 * `import.meta.url` stays the URL of the ES module: threads, processes and other files of the package are found beside
 * it.
 *
 * @param {string} dist
 * @returns {import('esbuild').Plugin}
 */
function keepModuleUrls(dist) {
  return {
    name: 'keep-module-urls',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const url = `moduleUrl(${JSON.stringify(relative(dist, path).replaceAll('\\', '/'))})`;
        return {
          contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url),
          resolveDir: dirname(path),
        };
      });
    },
  };
}

/**
 * The compiled files, without those of the CommonJS build.
 *
 * @param {string} dist
 * @returns {string[]}
 */
function filesOf(dist) {
  return readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(js|d\.ts)$/.test(path) && !/^\.?cjs/.test(path))
    .map((path) => join(dist, path));
}
