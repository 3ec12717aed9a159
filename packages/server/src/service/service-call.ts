import type { IncomingHttpHeaders } from 'node:http';
import type { EnqueueOptions } from 'batchwise';
import type { HttpCall } from '../http/http-route.js';
import type { BoundRunners } from './bound-runners.js';
import type { CallScope } from './call-scope.js';
import type { RouteContext } from './route-context.js';
import type { RunnerDeclarations } from './runner-declaration.js';

/** The context of a handler. All of it is getters: most handlers read one or two. */
export class ServiceCall implements RouteContext {
  readonly #call: HttpCall;
  readonly #scope: CallScope;
  readonly #bind: (scope: CallScope) => BoundRunners<RunnerDeclarations>;

  constructor(
    call: HttpCall,
    scope: CallScope,
    bind: (scope: CallScope) => BoundRunners<RunnerDeclarations>,
  ) {
    this.#call = call;
    this.#scope = scope;
    this.#bind = bind;
  }

  get runners(): BoundRunners<RunnerDeclarations> {
    return this.#bind(this.#scope);
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get requestId(): string {
    return this.#call.id;
  }

  get params(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#call.params);
  }

  get query(): URLSearchParams {
    return this.#call.query;
  }

  get headers(): IncomingHttpHeaders {
    return this.#call.headers;
  }

  get callOptions(): EnqueueOptions {
    return this.#scope.callOptions;
  }
}
