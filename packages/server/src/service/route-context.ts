/** What a handler is told beside its input. Each part is made when it is read: take only what you need. */
import type { IncomingHttpHeaders } from 'node:http';
import type { EnqueueOptions } from 'batchwise';
import type { BoundRunners } from './bound-runners.js';
import type { RunnerDeclarations } from './runner-declaration.js';

export interface RouteContext<
  Declared extends RunnerDeclarations = RunnerDeclarations,
  Path extends string = string,
> {
  /** What they are asked is cancelled when the client hangs up. */
  readonly runners: BoundRunners<Declared>;
  /** Fires when the client hangs up; for work of your own, the runners need none. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** What the `{name}`s of the path stand for. */
  readonly params: PathParams<Path>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Options of runner calls by the headers of the request, which are the defaults. `timeoutMs` is the time left. */
  readonly callOptions: EnqueueOptions;
}

export type PathParams<Path extends string> = string extends Path
  ? Readonly<Record<string, string>>
  : { readonly [Name in ParamNames<Path>]: string };

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;
