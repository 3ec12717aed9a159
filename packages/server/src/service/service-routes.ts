/** The routes of a service as the HTTP server takes them. */
import type { Runner, RunnerSettings } from '@batchwise/runners';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { type BodyLimits, DEFAULT_BODY_LIMITS } from '../body-limits.js';
import type { JsonSchema } from '../docs/open-api.js';
import { SchemaParts } from '../docs/schema-parts.js';
import type { HttpCall, HttpRoute } from '../http/http-route.js';
import { checkContentType } from '../protocols/content-type.js';
import { requestOptions } from '../protocols/request-options.js';
import { traceHeaders } from '../protocols/trace-headers.js';
import type { RequestTrust } from '../queue-options.js';
import { RequestError } from '../request-error.js';
import { servesModel } from '../serves-model.js';
import { runnerBinder } from './bind-runners.js';
import { CallScope } from './call-scope.js';
import { jsonInput } from './json-input.js';
import { jsonResult } from './json-result.js';
import { functionPredictor, modelPredictor, type Predictor } from './predictor.js';
import type { Schema } from './schema.js';
import { type Mismatch, SchemaCheck } from './schema-check.js';
import { hasBody, type Service, type ServiceRoute } from './service.js';
import { ServiceCall } from './service-call.js';

export interface ServiceRoutesOptions extends RequestTrust {
  /** What a body may contain. Those of the default size unless given. */
  readonly bodyLimits?: BodyLimits | undefined;
  /** The runners' settings in force, where they may differ from what the service declares. */
  readonly settings?: ReadonlyMap<string, RunnerSettings>;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

const JSON_HEADERS = { 'content-type': 'application/json' } as const;

/** From here on it would take zod too long to list all that is wrong with a body. */
const LARGE_BYTES = 16 * 1024;

type Bind = ReturnType<typeof runnerBinder>;

export function serviceRoutes(
  service: Service,
  runners: ReadonlyMap<string, Runner>,
  options: ServiceRoutesOptions = {},
): HttpRoute[] {
  const bind = runnerBinder(predictorsOf(service, runners, options));
  return service.routes.map((route) => httpRoute(route, bind, options));
}

function predictorsOf(
  service: Service,
  runners: ReadonlyMap<string, Runner>,
  { settings: inForce }: ServiceRoutesOptions,
): Map<string, Predictor> {
  const predictors = new Map<string, Predictor>();
  for (const [name, declared] of service.runners) {
    const runner = runners.get(name);
    if (runner === undefined) {
      throw new BatchwiseError('INVALID_OPTION', `serviceRoutes: expected a runner named ${name}, got none.`);
    }
    const settings = inForce?.get(name);
    const batchDim = settings?.batchDim ?? declared.settings.batchDim ?? [0, 0];
    const isModel = servesModel(declared, settings);
    predictors.set(name, isModel ? modelPredictor(runner, batchDim) : functionPredictor(runner));
  }
  return predictors;
}

function httpRoute(route: ServiceRoute, bind: Bind, options: ServiceRoutesOptions): HttpRoute {
  const { method, path, handler } = route;
  const inputOf = inputReader(route, options.bodyLimits ?? DEFAULT_BODY_LIMITS);
  const output = outputCheck(route);

  const answer = (call: HttpCall, scope: CallScope, result: unknown): void => {
    scope.answered();
    const { slowest } = scope;
    const headers = result === undefined ? {} : JSON_HEADERS;
    const told = slowest === undefined ? headers : traceHeaders(slowest, headers);
    if (result === undefined) call.reply(204, told, '');
    else call.reply(200, told, jsonResult(`${method} ${path}`, result));
  };

  const run = (call: HttpCall, input: unknown): void => {
    const scope = new CallScope(
      call,
      requestOptions(call.headers, options),
      options.trustedHeaders,
      options.clock ?? realClock,
    );
    const failed = (error: unknown): void => {
      call.fail(error);
      scope.abandon();
    };
    const ended = (result: unknown): void => {
      try {
        const answered = then(output(result), (fit) => answer(call, scope, fit));
        if (isPromise(answered)) answered.then(undefined, failed);
      } catch (error) {
        failed(error);
      }
    };
    try {
      const result = handler(input, new ServiceCall(call, scope, bind));
      if (isPromise(result)) result.then(ended, failed);
      else ended(result);
    } catch (error) {
      failed(error);
    }
  };

  return {
    method,
    path,
    handle(call) {
      const ended = then(inputOf(call), (input) => run(call, input));
      // Only a schema that waits for something gives a promise: the handler's is taken care of.
      return isPromise(ended) ? (ended as Promise<void>) : undefined;
    },
  };
}

function inputReader({ method, input }: ServiceRoute, limits: BodyLimits): (call: HttpCall) => unknown {
  const isBody = hasBody(method);
  const bodyOf = (call: HttpCall, isOptional = false): unknown => {
    // The type is checked without a body too: a page of another site may have a browser send none.
    checkContentType(call.headers);
    return isOptional && call.body.length === 0 ? undefined : jsonInput(call.body, limits);
  };
  if (input === undefined) return isBody ? (call) => bodyOf(call, true) : () => undefined;
  const read = isBody ? bodyOf : queryReader(input);
  const schema = new SchemaCheck(input, isBody ? 'body' : 'query', badInput);
  return (call) => schema.check(read(call), call.body.length > LARGE_BYTES);
}

/** A name that is there more than once is an array, as is one that the schema wants to be one. */
function queryReader(input: Schema): (call: HttpCall) => Record<string, unknown> {
  const lists = listNames(input);
  return ({ query }) => {
    const names = new Set(query.keys());
    names.delete('__proto__');
    return Object.fromEntries(
      [...names].map((name) => {
        const values = query.getAll(name);
        return [name, values.length === 1 && !lists.has(name) ? values[0] : values];
      }),
    );
  };
}

/** What the documentation calls an array. */
function listNames(input: Schema): ReadonlySet<string> {
  const parts = new SchemaParts();
  const { properties } = parts.resolved(parts.add('query', input, 'input').$ref);
  const lists = Object.entries((properties ?? {}) as Record<string, JsonSchema>).filter(
    ([, { $ref, type }]) => (typeof $ref === 'string' ? parts.resolved($ref).type : type) === 'array',
  );
  return new Set(lists.map(([name]) => name));
}

function badInput({ first, count, text }: Mismatch): RequestError {
  if (count === 1) return new RequestError('BAD_REQUEST', `${first.message}.`, { where: first.where });
  return new RequestError('BAD_REQUEST', `${count} values are invalid: ${text}.`);
}

function outputCheck(route: ServiceRoute): (result: unknown) => unknown {
  const { method, path, output } = route;
  if (output === undefined) return (result) => result;
  const schema = new SchemaCheck(output, 'result', ({ text }) => {
    // What the handler made of it is not the client's to read: that is in the cause, for the log.
    const cause = new Error(
      `${method} ${path}: the result of the handler does not match its output schema: ${text}.`,
    );
    return new RequestError(
      'INTERNAL',
      'The response does not match its declared schema; the log has the location.',
      { cause },
    );
  });
  return (result) => schema.check(result);
}

/** Goes on at once where there is nothing to wait for. */
function then(value: unknown, next: (value: unknown) => unknown): unknown {
  return isPromise(value) ? value.then(next) : next(value);
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}
