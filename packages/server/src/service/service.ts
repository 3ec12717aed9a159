/** A service as the server takes it: checked, frozen, its types forgotten. */
import type { HttpRoute } from '../http/http-route.js';
import type { RouteContext } from './route-context.js';
import type { RunnerDeclaration } from './runner-declaration.js';
import type { Schema } from './schema.js';

export type RouteMethod = Exclude<HttpRoute['method'], 'HEAD'>;

export interface ServiceRoute {
  readonly method: RouteMethod;
  readonly path: string;
  /** Schema of the body; for methods without a body, of the query. */
  readonly input: Schema | undefined;
  readonly output: Schema | undefined;
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly handler: (input: unknown, context: RouteContext) => unknown;
}

export interface Service {
  readonly name: string | undefined;
  readonly runners: ReadonlyMap<string, RunnerDeclaration>;
  readonly routes: readonly ServiceRoute[];
}

/** Shared by all copies of the package: the module of the user may have found another one than the command. */
const MARK = Symbol.for('batchwise.service');

export function markedService(service: Service): Service {
  return Object.freeze({ ...service, [MARK]: true });
}

export function isService(value: unknown): value is Service {
  return typeof value === 'object' && value !== null && MARK in value;
}

/** GET and DELETE have no body to speak of: their input is the query. */
export function hasBody(method: RouteMethod): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
