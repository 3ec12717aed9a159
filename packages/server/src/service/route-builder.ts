/** What the `routes` of a service are written with: it knows the runners, so that their types reach the handlers. */
import type * as z from 'zod';
import type { RouteContext } from './route-context.js';
import type { RunnerDeclarations } from './runner-declaration.js';
import type { Schema } from './schema.js';
import type { RouteMethod, ServiceRoute } from './service.js';

export interface RouteOptions<
  Declared extends RunnerDeclarations,
  Path extends string,
  Input extends Schema | undefined,
  Output extends Schema | undefined,
> {
  /** Of the JSON body; of the query for `get` and `delete`. What does not fit it is answered with 400. */
  readonly input?: Input;
  /** Of the answer. A result that does not fit it is answered with 500, and told in the log. */
  readonly output?: Output;
  /** A line for the documentation. */
  readonly summary?: string;
  /** More than a line; Markdown. */
  readonly description?: string;
  /** Its result is the answer, as JSON; nothing at all is 204. */
  readonly handler: (
    input: Input extends Schema ? z.output<Input> : unknown,
    context: RouteContext<Declared, Path>,
  ) => Awaitable<Output extends Schema ? z.input<Output> : unknown>;
}

type Awaitable<T> = T | PromiseLike<T>;

export type AddRoute<Declared extends RunnerDeclarations> = <
  const Path extends string,
  Input extends Schema | undefined = undefined,
  Output extends Schema | undefined = undefined,
>(
  path: Path,
  options: RouteOptions<Declared, Path, Input, Output>,
) => ServiceRoute;

export interface RouteBuilder<Declared extends RunnerDeclarations> {
  readonly get: AddRoute<Declared>;
  readonly post: AddRoute<Declared>;
  readonly put: AddRoute<Declared>;
  readonly patch: AddRoute<Declared>;
  readonly delete: AddRoute<Declared>;
}

/** Checks nothing: `defineService` does, with the place of the route in the list. */
export const routeBuilder: RouteBuilder<RunnerDeclarations> = Object.freeze({
  get: adder('GET'),
  post: adder('POST'),
  put: adder('PUT'),
  patch: adder('PATCH'),
  delete: adder('DELETE'),
});

function adder(method: RouteMethod): AddRoute<RunnerDeclarations> {
  return (path, options) => {
    // Spread last, so that what is not known stays there to be found.
    const known = { input: undefined, output: undefined, summary: undefined, description: undefined };
    return { ...known, ...options, method, path } as unknown as ServiceRoute;
  };
}
