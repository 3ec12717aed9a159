/** Loads a scenario file, in TypeScript or JavaScript, and checks it. */
import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { BatchwiseError } from 'batchwise';
import { createJiti } from 'jiti';
import { LoadError } from '../load-error.js';
import { checkTargetSpec } from '../targets/check-target-spec.js';
import { valid } from '../valid.js';
import type { LoadDefinition } from './define-load.js';
import { scenarioSchema } from './scenario-schema.js';

const EXAMPLE = 'export default defineLoad({ users: { visitor: { tasks: { … } } } });';

export interface Scenario extends LoadDefinition {
  /** As messages name the file. */
  readonly fileName: string;
  /** What its files are relative to. */
  readonly folder: string;
}

/** @throws {LoadError} INVALID_OPTION */
export async function loadScenario(path: string): Promise<Scenario> {
  const file = resolve(path);
  const fileName = basename(file);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new LoadError('INVALID_OPTION', `There is no scenario file ${path}.`);
  const exported = await imported(file).catch((error: unknown) => {
    throw new LoadError('INVALID_OPTION', `${fileName} cannot be loaded: ${thrownText(error, file)}`, {
      cause: error,
    });
  });
  const definition = exported.default ?? exported.load;
  if (definition === undefined) {
    const names = Object.keys(exported);
    const found = names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`;
    throw new LoadError('INVALID_OPTION', `${fileName} exports no scenario: ${found}. Expected: ${EXAMPLE}`);
  }
  valid(scenarioSchema, definition, `${fileName}: `);
  const scenario = definition as LoadDefinition;
  if (scenario.host !== undefined) checkHost(scenario.host, `${fileName}: `);
  for (const [name, target] of Object.entries(scenario.targets ?? {})) {
    try {
      checkTargetSpec(target);
    } catch (error) {
      throw new LoadError('INVALID_OPTION', `${fileName}: targets.${name}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
  return { ...scenario, fileName, folder: dirname(file) };
}

/** @throws {LoadError} INVALID_OPTION */
export function checkHost(host: string, prefix = ''): void {
  if (URL.canParse(host) && /^https?:$/.test(new URL(host).protocol)) return;
  const hint = /^[\w.-]+(:\d+)?(\/|$)/.test(host) ? ` Did you mean http://${host}?` : '';
  throw new LoadError(
    'INVALID_OPTION',
    `${prefix}host: expected a URL, such as http://localhost:3000, got ${JSON.stringify(host)}.${hint}`,
  );
}

async function imported(file: string): Promise<Record<string, unknown>> {
  // Node 20 knows no TypeScript. The packages of this project come from here, whatever lies beside the file. Without
  // caches, so that the next run of the same process has the file as it is then.
  const jiti = createJiti(import.meta.url, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules: {
      '@batchwise/load': await import('../index.js'),
      batchwise: await import('batchwise'),
    },
  });
  return jiti.import(file);
}

/** In one line: what was thrown, and where in the file. */
function thrownText(thrown: unknown, file: string): string {
  if (!(thrown instanceof Error)) return `it throws ${JSON.stringify(thrown) ?? String(thrown)}.`;
  const message = (thrown.message.split('\n', 1)[0] ?? '').trim();
  const isPlain = thrown.name === 'Error' || thrown instanceof LoadError || thrown instanceof BatchwiseError;
  const name = isPlain ? '' : `${thrown.name}: `;
  const place = `${thrown.message}\n${thrown.stack ?? ''}`.split(`${file}:`)[1];
  const [, line] = /^(\d+)(?::\d+)?/.exec(place ?? '') ?? [];
  return line === undefined ? `${name}${message}` : `${name}${message} (${basename(file)}:${line})`;
}
