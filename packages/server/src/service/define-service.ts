import { shownValue } from '@batchwise/runners';
import { BatchwiseError, didYouMean } from 'batchwise';
import { RUNNER_KEYS } from '../config/key-tree.js';
import { type RouteBuilder, routeBuilder } from './route-builder.js';
import type { RunnerDeclaration, RunnerDeclarations } from './runner-declaration.js';
import { isSchema } from './schema.js';
import { markedService, type Service, type ServiceRoute } from './service.js';

export interface ServiceDefinition<Declared extends RunnerDeclarations> {
  /** Title of the API docs. */
  readonly name?: string;
  /** The backends, by name; the names are those of the configuration and the metrics. */
  readonly runners: Declared;
  readonly routes: (route: RouteBuilder<Declared>) => readonly ServiceRoute[];
}

/** What the server answers itself. */
const RESERVED_PATH = /^\/(?:v1\/models|v2|docs|docs\.json|dashboard|metrics|livez|readyz|healthz)(?:[/:]|$)/;

const METHODS: ReadonlySet<unknown> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const DEFINITION_KEYS = ['name', 'runners', 'routes'];
const ROUTE_KEYS = ['method', 'path', 'input', 'output', 'summary', 'description', 'handler'];

/**
 * Models and the code around them, for `batchwise serve`:
 *
 *     export const service = defineService({
 *       runners: { iris: onnx<number[], number[]>('models/iris.onnx', { batchable: true }) },
 *       routes: (route) => [
 *         route.post('/classify', {
 *           input: z.object({ sepal_length: z.number(), … }),
 *           output: z.object({ label: z.string() }),
 *           handler: async (flower, { runners }) => {
 *             const probabilities = await runners.iris.predict([flower.sepal_length, …]);
 *             return { label: LABELS[probabilities.indexOf(Math.max(...probabilities))] };
 *           },
 *         }),
 *       ],
 *     });
 */
export function defineService<const Declared extends RunnerDeclarations>(
  definition: ServiceDefinition<Declared>,
): Service {
  const { name, runners, routes } = validObject('definition', definition, DEFINITION_KEYS);
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    throw expected('name', 'a string that is not empty', name);
  }
  if (typeof routes !== 'function') throw expected('routes', 'a function (route) => [route.post(…)]', routes);
  const declared = validRunners(runners);
  const listed: unknown = routes(routeBuilder);
  if (!Array.isArray(listed)) throw expected('routes', 'a function that returns an array', listed);
  return markedService({ name, runners: declared, routes: validRoutes(listed) });
}

function validRunners(runners: unknown): ReadonlyMap<string, RunnerDeclaration> {
  const declared = new Map<string, RunnerDeclaration>();
  for (const [name, runner] of Object.entries(validObject('runners', runners))) {
    const where = `runners.${name}`;
    if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)) {
      throw mistake(where, 'expected a runner name of at most 63 lower-case letters, digits, _ and -.');
    }
    // They stand beside the runners' names there.
    if (RUNNER_KEYS.keys.has(name) || RUNNER_KEYS.elsewhere.has(name)) {
      throw mistake(
        where,
        'this name is a setting of all runners in the configuration; choose another name.',
      );
    }
    if (!isDeclaration(runner))
      throw expected(
        where,
        'onnx(path, options), python(path, options), fn(handler, options) or upstream(url, options)',
        runner,
      );
    declared.set(name, runner);
  }
  return declared;
}

function isDeclaration(value: unknown): value is RunnerDeclaration {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, settings } = value as Partial<RunnerDeclaration>;
  return KINDS.has(kind) && typeof settings === 'object';
}

const KINDS: ReadonlySet<unknown> = new Set<RunnerDeclaration['kind']>([
  'onnx',
  'python',
  'function',
  'upstream',
]);

function validRoutes(listed: readonly unknown[]): readonly ServiceRoute[] {
  const places = new Map<string, number>();
  const routes = listed.map((given, i) => {
    const route = validRoute(`routes[${i}]`, given);
    // Two paths that differ only in the names of their parts are one.
    const key = `${route.method} ${route.path.replace(/\{[^}]*\}/g, '{}')}`;
    const before = places.get(key);
    if (before !== undefined) {
      throw mistake(
        `routes[${i}]`,
        `${route.method} ${route.path} is a duplicate of routes[${before}]; expected one route per method and path.`,
      );
    }
    places.set(key, i);
    return route;
  });
  return Object.freeze(routes);
}

function validRoute(place: string, given: unknown): ServiceRoute {
  const { method, path, input, output, summary, description, handler } = validObject(
    place,
    given,
    ROUTE_KEYS,
  );
  if (!METHODS.has(method)) throw expected(place, 'a route, as route.post(path, options) returns it', given);
  const where = `${place} (${method} ${typeof path === 'string' ? path : '?'})`;
  checkPath(where, path);
  checkSchema(`${where}: input`, input);
  checkSchema(`${where}: output`, output);
  for (const [key, text] of Object.entries({ summary, description })) {
    if (text !== undefined && typeof text !== 'string') throw expected(`${where}: ${key}`, 'a string', text);
  }
  if (typeof handler !== 'function') {
    throw expected(`${where}: handler`, 'a function (input, context) => result', handler);
  }
  return Object.freeze({ method, path, input, output, summary, description, handler } as ServiceRoute);
}

function checkPath(where: string, path: unknown): asserts path is string {
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw expected(`${where}: path`, 'a string that begins with /', path);
  }
  const names = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');
  const fixed = path.replace(/\{[^{}]*\}/g, '');
  if (!/^[\w\-.~!$&'()*+,;=:@/]*$/.test(fixed) || path.includes('//')) {
    throw mistake(
      `${where}: path`,
      'expected parts of letters, digits and -._~ between single slashes, and {name} for a parameter; no query, no encoding.',
    );
  }
  for (const name of names) {
    if (!/^[A-Za-z]\w*$/.test(name)) {
      throw expected(`${where}: path`, 'a parameter name of letters, digits and _', `{${name}}`);
    }
  }
  if (path.split('/').some((part) => part.split('{').length > 2)) {
    throw mistake(`${where}: path`, 'expected at most one {name} between two slashes.');
  }
  if (new Set(names).size < names.length)
    throw mistake(`${where}: path`, 'expected each parameter name once, got one twice.');
  if (RESERVED_PATH.test(path))
    throw mistake(`${where}: path`, 'this path is used by the server; choose another one.');
}

function checkSchema(where: string, schema: unknown): void {
  if (schema === undefined || isSchema(schema)) return;
  const isOlder = typeof schema === 'object' && schema !== null && '_def' in schema;
  throw isOlder
    ? mistake(where, 'expected a schema of zod 4, got one of zod 3.')
    : expected(where, 'a zod schema', schema);
}

function validObject(where: string, value: unknown, known?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw expected(where, 'an object', value);
  if (known === undefined) return value as Record<string, unknown>;
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known);
    throw mistake(where, `unknown key ${JSON.stringify(unknown)}.${hint} Known are ${known.join(', ')}.`);
  }
  return value as Record<string, unknown>;
}

function expected(where: string, what: string, came: unknown): BatchwiseError {
  return mistake(where, `expected ${what}, got ${shownValue(came)}.`);
}

function mistake(where: string, message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `defineService: ${where}: ${message}`);
}
