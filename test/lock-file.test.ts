/**
 * The lock file: what users install with the packages. `npm install` silently leaves an optional package out of it
 * when the registry does not have it (yet); then `npm ci` fails, on every machine. The way out is a version that is
 * complete.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Lock {
  readonly packages: Record<string, LockedPackage>;
}

interface LockedPackage {
  readonly optionalDependencies?: Record<string, string>;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
}

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Lock;
const lock = read('../package-lock.json');

test('every optional package, of whatever platform, is in the lock files', () => {
  expect(missingFrom(lock)).toEqual([]);
  expect(missingFrom(read('consumers/package-lock.json'))).toEqual([]);
});

test('one that is not would be named', () => {
  const optionalDependencies = { 'tool-linux': '1.0.0', 'tool-darwin': '1.0.0' };
  const packages = { 'node_modules/tool': { optionalDependencies }, 'node_modules/tool-linux': {} };
  expect(missingFrom({ packages })).toEqual(['tool-darwin']);
});

/** Packages that run code when users install ours, and why they may. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  'onnxruntime-node': 'downloads the runtime for GPUs where it is asked to',
  protobufjs: 'compares versions in package.json files, on the machine; of @grpc/proto-loader',
  'msgpackr-extract': 'looks for its prebuilt addon; optional',
};

// swagger-ui-dist brought @scarf/scarf, which reports each installation to its makers.
test('no package that users install has an install script, but for known ones', () => {
  expect(withInstallScripts(lock).filter((name) => !Object.hasOwn(INSTALL_SCRIPTS, name))).toEqual([]);
  expect(Object.keys(lock.packages).filter((path) => /@scarf\/|swagger-ui-dist/.test(path))).toEqual([]);
});

test('one that has would be named, unless it is for development only', () => {
  const packages = {
    'node_modules/a': { hasInstallScript: true },
    'node_modules/b/node_modules/@s/c': { hasInstallScript: true },
    'node_modules/d': { hasInstallScript: true, dev: true },
    'node_modules/e': {},
  };
  expect(withInstallScripts({ packages })).toEqual(['a', '@s/c']);
});

function withInstallScripts({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true)
    .map(([path]) => path.split('node_modules/').at(-1) as string);
}

function missingFrom({ packages }: Lock): string[] {
  const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  const optional = Object.values(packages).flatMap((one) => Object.keys(one.optionalDependencies ?? {}));
  return optional.filter((name) => !locked.has(name));
}
