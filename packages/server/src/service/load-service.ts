/** The user's module: loads it, TypeScript too, and finds the service in it. */
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { shownValue } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { interpreterFrom } from '../config/kinds/text-kinds.js';
import type { ModelDeclaration, RunnerDeclaration } from './runner-declaration.js';
import { isService, markedService, type Service } from './service.js';

const EXAMPLE = 'export const service = defineService({ runners, routes });';

export interface LoadServiceOptions {
  /**
   * Evaluates a TypeScript module, and the modules in its folder, again if they were loaded before.
   * @default false
   */
  readonly isFresh?: boolean | undefined;
}

/** The paths of the models of the returned service are absolute. */
export async function loadService(
  path: string,
  { isFresh = false }: LoadServiceOptions = {},
): Promise<Service> {
  const file = resolve(path);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new BatchwiseError('INVALID_OPTION', `There is no service module ${path}.`);
  if (isFresh) forgetModules(dirname(file));
  const exported = await imported(file).catch((error: unknown) => {
    throw new BatchwiseError('INVALID_OPTION', `${path} cannot be loaded: ${thrownText(error, file)}`, {
      cause: error,
    });
  });
  const service = [exported.service, exported.default].find(isService);
  if (service === undefined) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `${path} exports no service: ${exportsText(exported)} Expected: ${EXAMPLE}`,
    );
  }
  return located(service, dirname(file));
}

async function imported(file: string): Promise<Record<string, unknown>> {
  if (!/\.[cm]?tsx?$/.test(file)) return import(pathToFileURL(file).href);
  // Node 20 knows no TypeScript. The packages of this project come from here, whatever lies beside the module:
  // a second copy of them would take time to load and have error classes of its own.
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, {
    fsCache: false,
    interopDefault: false,
    virtualModules: {
      '@batchwise/server': await import('../index.js'),
      '@batchwise/runners': await import('@batchwise/runners'),
      batchwise: await import('batchwise'),
      ...(canResolve(file, 'zod') ? {} : { zod: await import('zod') }),
    },
  });
  return jiti.import(file);
}

/** jiti keeps modules in the cache of `require()`. Native ES modules cannot be evaluated again. */
function forgetModules(folder: string): void {
  const { cache } = createRequire(import.meta.url);
  for (const path of Object.keys(cache))
    if (path.startsWith(join(folder, sep)) && !path.includes(`${sep}node_modules${sep}`)) delete cache[path];
}

function canResolve(file: string, name: string): boolean {
  try {
    createRequire(file).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** This package and those beside it: a module in the root of their repository stands above them. */
const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));

function isOwnFrame(line: string, folder: string): boolean {
  return line.includes(folder) && !line.includes('/node_modules/') && !line.includes(PACKAGES);
}

/** What was thrown, and where in the user's own code. */
function thrownText(thrown: unknown, file: string): string {
  if (!(thrown instanceof Error)) return `it throws ${shownValue(thrown)}.`;
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const own = frames.filter((line) => isOwnFrame(line, dirname(file)));
  const text = `${thrown.name}: ${thrown.message}`;
  return own.length === 0 ? text : `${text}\n${own.join('\n')}`;
}

function exportsText(exported: Record<string, unknown>): string {
  const names = Object.keys(exported);
  if (names.length === 0) return 'it exports nothing.';
  for (const name of ['service', 'default']) {
    const value = exported[name];
    if (typeof value === 'object' && value !== null && 'routes' in value) {
      return `its ${name} was not made by defineService().`;
    }
  }
  return `it exports ${names.map((name) => `${name} (${shownValue(exported[name])})`).join(', ')}.`;
}

/** Relative paths in a module start at its folder. */
function located(service: Service, folder: string): Service {
  const runners = new Map<string, RunnerDeclaration>();
  for (const [name, runner] of service.runners) {
    const isFile = runner.kind === 'onnx' || runner.kind === 'python';
    runners.set(name, isFile ? locatedModel(runner, folder) : runner);
  }
  return markedService({ ...service, runners });
}

function locatedModel(
  model: ModelDeclaration<never, unknown>,
  folder: string,
): ModelDeclaration<never, unknown> {
  const path = resolve(folder, model.path);
  const { python } = model.settings;
  if (python === undefined) return { ...model, path };
  return { ...model, path, settings: { ...model.settings, python: interpreterFrom(folder, python) } };
}
