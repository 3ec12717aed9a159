/**
 * What one request may cost all others. Root cause of what was found: the size of a body was limited in bytes and
 * brackets only, and its cost depends on values, keys and on how far it decompresses.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MeasuredServer } from '../serve-support/event-loop-cost.js';
import { ANSWERED, FOUND, type HostileBody, oneRouteEach } from '../serve-support/hostile-bodies.js';

describe('no request blocks the event loop for more than 100 ms at default limits', () => {
  let server: MeasuredServer;
  beforeAll(async () => {
    server = await MeasuredServer.start();
  });
  afterAll(() => server.close());

  async function expensive(bodies: readonly HostileBody[]): Promise<string[]> {
    const found: string[] = [];
    for (const { path, name, body, headers } of bodies) {
      const bytes = body();
      const ms = await server.cost(() => server.post(path, bytes, headers));
      if (ms > server.limitMs) found.push(`${path}, ${name}: ${ms} ms of CPU time in one turn`);
    }
    return found;
  }

  test('with what was found', async () => {
    expect(await expensive(FOUND)).toEqual([]);
  });

  test('with as much as each limit allows', async () => {
    expect(await expensive(oneRouteEach())).toEqual([]);
  });

  test('with requests to models that are answered', async () => {
    expect(await expensive(ANSWERED)).toEqual([]);
  });
});
