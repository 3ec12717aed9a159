/** Rows by id over HTTP. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { batchedFetch } from '@batchwise/fetch';
import { oneByOne } from './one-by-one.js';

export interface HttpService {
  readonly url: string;
  close(): Promise<void>;
}

/** A server in this process that answers each request with a JSON text. */
export async function httpService(answer: (url: string, body: string) => string): Promise<HttpService> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    response.setHeader('content-type', 'application/json');
    response.end(answer(request.url ?? '', body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export const SHARED_THREAD =
  'The service answers at once, on the thread of the callers: the figure is the cost of requests alone.';

interface User {
  readonly id: number;
  readonly name: string;
}

/** `GET /users?ids=1,2`. */
export function userService(): Promise<HttpService> {
  return httpService((url) => {
    const ids = url.slice(url.indexOf('=') + 1).split(',');
    return `[${ids.map((id) => `{"id":${id},"name":"user ${id}"}`)}]`;
  });
}

export async function fetchUsers(url: string, ids: readonly number[]): Promise<readonly User[]> {
  const response = await fetch(`${url}/users?ids=${ids.join(',')}`);
  return (await response.json()) as User[];
}

export const fetchFigure = oneByOne({
  name: 'fetch',
  item: 'GET of one row',
  notes: [SHARED_THREAD],
  async start() {
    const { url, close } = await userService();
    const users = batchedFetch({
      url: (ids: readonly number[]) => `${url}/users?ids=${ids.join(',')}`,
      keyOf: (user: User) => user.id,
    });
    return {
      single: (id) => fetchUsers(url, [id]),
      batched: (id) => users.submit(id),
      async close() {
        await users.close();
        await close();
      },
    };
  },
});
