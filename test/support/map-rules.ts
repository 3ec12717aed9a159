/**
 * The rules of the map, as a function from a package to what is wrong with it: packages know each
 * other by name only, and only downwards; core knows nobody, and reads time in one place.
 */
import { posix } from 'node:path';
import { build, type Plugin } from 'esbuild';

export interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface PackageSources {
  readonly manifest: Manifest;
  /** The text of each file by its path below `src/`. */
  readonly files: Readonly<Record<string, string>>;
}

/** From top to bottom: a package may know those in the layers below its own. */
const LAYERS = [
  ['@batchwise/cli'],
  [
    '@batchwise/server',
    '@batchwise/redis',
    '@batchwise/proxy',
    '@batchwise/load',
    '@batchwise/arena',
    '@batchwise/dashboard',
    // Ready-made batchers: their drivers are peer dependencies.
    '@batchwise/postgres',
    '@batchwise/dynamodb',
    '@batchwise/sqs',
    '@batchwise/sns',
    '@batchwise/kafka',
    '@batchwise/rabbitmq',
    '@batchwise/redis-commands',
    '@batchwise/embeddings',
    '@batchwise/elasticsearch',
    '@batchwise/fetch',
    '@batchwise/dataloader',
  ],
  ['@batchwise/runners'],
  ['@batchwise/grpc', '@batchwise/metrics', '@batchwise/aws'],
  ['batchwise'],
];

/**
 * Neighbours in a layer that may know each other all the same: those who serve the prebuilt pages, the
 * server, whose runners may be placed in Redis, and the traffic simulator, which can send to a queue in Redis and
 * shares trace files, randomness and plots with the arena.
 */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  '@batchwise/server': ['@batchwise/dashboard', '@batchwise/redis'],
  '@batchwise/embeddings': ['@batchwise/fetch'],
  '@batchwise/elasticsearch': ['@batchwise/fetch'],
  '@batchwise/load': ['@batchwise/arena', '@batchwise/dashboard', '@batchwise/redis'],
};

/** Packages that use `batchwise/internal`: the ablation of rules, and policies around another policy. */
const INTERNAL_USERS = ['@batchwise/arena', '@batchwise/proxy', '@batchwise/redis'];

const CORE = 'batchwise';
const CLOCK_FILE = 'time/clock.ts';
const TIME = ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate'];

/** One line for each breach: the file and what is wrong with it. None when all is well. */
export async function breaches({ manifest, files }: PackageSources): Promise<string[]> {
  const isCore = manifest.name === CORE;
  const found: string[] = [];
  if (layerOf(manifest.name) < 0) found.push('package.json: the package is not on the map; add it to LAYERS');
  if (isCore && manifest.dependencies !== undefined) found.push('package.json: core has dependencies');
  for (const [file, text] of Object.entries(files)) {
    const { imports, time } = await readSource(file, text);
    for (const specifier of imports) {
      const wrong = isCore ? wrongInCore(file, specifier) : wrongImport(manifest, file, specifier);
      if (wrong !== undefined) found.push(`${file}: '${specifier}' ${wrong}`);
    }
    if (isCore && file !== CLOCK_FILE) {
      for (const name of time) found.push(`${file}: ${name} belongs in ${CLOCK_FILE} only`);
    }
  }
  return found;
}

function wrongInCore(file: string, specifier: string): string | undefined {
  return isRelative(specifier) ? wrongPath(file, specifier) : 'is outside of core, which imports nothing';
}

function wrongImport(manifest: Manifest, file: string, specifier: string): string | undefined {
  if (isRelative(specifier)) return wrongPath(file, specifier);
  if (specifier.startsWith('node:')) return undefined;

  const name = packageName(specifier);
  if (layerOf(name) >= 0) {
    const isInternal = specifier === 'batchwise/internal' && INTERNAL_USERS.includes(manifest.name);
    if (specifier !== name && !isInternal) return `reaches into ${name}; import it by its name`;
    if (!mayKnow(manifest.name, name)) return `is not below ${manifest.name} on the map`;
  }
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  return Object.hasOwn(declared, name) ? undefined : `is not among the dependencies of ${manifest.name}`;
}

function wrongPath(file: string, specifier: string): string | undefined {
  const leaves = specifier.startsWith('/') || posix.join(posix.dirname(file), specifier).startsWith('..');
  return leaves ? "leaves the package's src" : undefined;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith('.') || specifier.startsWith('/');
}

function mayKnow(importer: string, imported: string): boolean {
  return layerOf(imported) > layerOf(importer) || (ALSO[importer]?.includes(imported) ?? false);
}

function layerOf(name: string): number {
  return LAYERS.findIndex((layer) => layer.includes(name));
}

/** `@scope/name/below/it` → `@scope/name`. */
function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

interface SourceFacts {
  readonly imports: readonly string[];
  /** The names by which it reads a clock or sets a timer. */
  readonly time: readonly string[];
}

/** Asks a parser, because the examples in comments import things too. */
async function readSource(file: string, text: string): Promise<SourceFacts> {
  const imports: string[] = [];
  const noteImports: Plugin = {
    name: 'note-imports',
    setup({ onResolve }) {
      onResolve({ filter: /^/ }, ({ path }) => {
        imports.push(path);
        return { path, external: true };
      });
    },
  };
  const { outputFiles } = await build({
    stdin: { contents: withTypesAsValues(text), loader: file.endsWith('.tsx') ? 'tsx' : 'ts' },
    bundle: true,
    format: 'esm',
    target: 'esnext',
    write: false,
    legalComments: 'none',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    plugins: [noteImports],
    logLevel: 'silent',
  });
  const code = outputFiles[0]?.text ?? '';
  return { imports, time: TIME.filter((name) => new RegExp(`\\b${name}\\b`).test(code)) };
}

/** Imports of types count, and the parser drops them: this turns them into imports of values. */
function withTypesAsValues(text: string): string {
  return text.replace(/\b(import|export) type (?=[{*]|\w+ from\b)/g, '$1 ');
}
