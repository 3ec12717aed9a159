/** For Express, Fastify and NestJS: a signal that aborts when the connection of the client closes. */
import type { ServerResponse } from 'node:http';

export function clientSignal(response: ServerResponse): AbortSignal {
  const client = new AbortController();
  const abort = () => client.abort(new Error('the client has disconnected'));
  if (response.destroyed) abort();
  else response.once('close', abort);
  return client.signal;
}
