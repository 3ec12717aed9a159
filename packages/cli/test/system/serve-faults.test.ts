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

// What could not be written was an error of the stream that nobody listened for, and ended the server.
describe('a log that cannot be written', () => {
  test('does not end the server', async () => {
    const server = await Serving.start([fixture('failing-service.ts')]);
    server.closeLog();
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`http://127.0.0.1:${server.port}/broken`, { method: 'POST' });
      expect(answer.status).toBe(500);
    }
    server.signal('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('does not end the supervisor of several processes, who has something to say of one that died', async () => {
    const server = await Serving.start([fixture('failing-service.ts'), '--workers', '2']);
    server.closeLog();
    const [runner = 0] = server.pids('runner');
    process.kill(runner, 'SIGKILL');
    await until(() => {
      const [another] = server.pids('runner');
      return server.hasEnded || (another !== undefined && another !== runner);
    }, 'it is started again');
    const answer = await fetch(`http://127.0.0.1:${server.port}/livez`);
    expect(answer.status).toBe(200);
  });
});
