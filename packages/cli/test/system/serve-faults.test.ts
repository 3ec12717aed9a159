/** What is wrong in the code of a service is for its author to read, not for its clients. */
import { afterEach, describe, expect, test } from 'vitest';
import { fixture, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

describe.each([
  ['one process', [] as string[]],
  ['several', ['--workers', '2']],
])('%s', (_, flags) => {
  test('a runner that throws is told to the log with its place, and to nobody else', async () => {
    const server = await Serving.start([fixture('failing-service.ts'), ...flags]);
    const answer = await fetch(`http://127.0.0.1:${server.port}/broken`, { method: 'POST' });
    const problem = await answer.text();
    expect([answer.status, problem.includes('mistake')]).toEqual([500, false]);
    await until(() => server.stderr.includes('failing-service.ts:'), 'the log tells the place');
    expect(server.stderr).toContain('there is a mistake in this line');
  });
});
