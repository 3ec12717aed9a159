/**
 * The standard ways to ask a model over HTTP: the Open Inference Protocol (`/v2`) and `:predict` (`/v1`).
 * What is here reads requests and writes answers; batching, limits and time are the runner's.
 */
import type { BodyLimits } from '../body-limits.js';
import type { HttpRoute } from '../http/http-route.js';
import type { Models } from '../model-lookup.js';
import type { RequestTrust } from '../queue-options.js';
import { v1Routes } from './v1-routes.js';
import { v2Routes } from './v2-routes.js';

export interface ProtocolOptions extends RequestTrust {
  /** Looked up anew by each request: the map may change. */
  readonly models: Models;
  /** Whether all models are, and the server is not about to stop. */
  isReady(): boolean;
  /** What the server's metadata say. */
  readonly name: string;
  readonly version: string;
  /** What a body may contain. Those of the default size unless given. */
  readonly bodyLimits?: BodyLimits | undefined;
}

export function protocolRoutes(options: ProtocolOptions): HttpRoute[] {
  return [...v2Routes(options), ...v1Routes(options)];
}
