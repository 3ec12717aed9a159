/** A server is told to stop while many clients ask: what it accepted it answers, and nobody gets two answers. */
import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import type { HttpRoute } from '../../src/http/http-route.js';
import { HttpStage } from '../http/support/http-stage.js';

const CLIENTS = 50;

interface Outcome {
  readonly id: string;
  readonly status: number;
  readonly echo: string;
  /** `ECONNREFUSED` is fair once the server no longer accepts. */
  readonly error: string;
}

test('nothing that was accepted fails', async () => {
  const accepted = new Set<string>();
  const answeredCalls = new Map<string, number>();
  const slowEcho: HttpRoute = {
    method: 'POST',
    path: '/slow',
    handle: (call) => {
      accepted.add(call.id);
      setTimeout(() => call.reply(200, {}, call.body), Number(call.query.get('delay')));
    },
  };
  const stage = await HttpStage.open({}, [slowEcho]);
  const outcomes: Outcome[] = [];
  let underLoad = () => {};
  const isUnderLoad = new Promise<void>((resolve) => {
    underLoad = resolve;
  });
  let isOver = false;

  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; !isOver; i++) {
      const id = `${client}-${i}`;
      const outcome = await ask(stage.port, agent, id, (client * 7 + i) % 20);
      outcomes.push(outcome);
      if (outcomes.length === 10 * CLIENTS) underLoad();
      if (outcome.error !== '' || outcome.status !== 200) break;
    }
    agent.destroy();
  });
  await isUnderLoad;
  expect(await stage.server.drain(30_000)).toBe(0);
  isOver = true;
  await Promise.all(clients);

  for (const { id, status, echo } of outcomes) {
    if (!accepted.has(id)) continue;
    expect([id, status, echo]).toEqual([id, 200, id]);
    answeredCalls.set(id, (answeredCalls.get(id) ?? 0) + 1);
  }
  expect(answeredCalls.size).toBe(accepted.size);
  expect(new Set(answeredCalls.values())).toEqual(new Set([1]));
  const refusals = outcomes.filter(({ id }) => !accepted.has(id));
  for (const { status, error } of refusals) expect([503, 0]).toContain(error === '' ? status : 0);
  // Whoever was on the way when the drain began heard a proper refusal, not a reset.
  expect(refusals.filter(({ error }) => error === 'ECONNRESET')).toEqual([]);
  expect(stage.started).toHaveLength(stage.ended.length);
});

function ask(port: number, agent: Agent, id: string, delayMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const asking = request(
      {
        host: '127.0.0.1',
        port,
        agent,
        method: 'POST',
        path: `/slow?delay=${delayMs}`,
        headers: { 'x-request-id': id },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ id, status: answer.statusCode ?? 0, echo: Buffer.concat(chunks).toString(), error: '' }),
        );
        answer.on('error', (error: NodeJS.ErrnoException) =>
          resolve({ id, status: 0, echo: '', error: `${error.code}` }),
        );
      },
    );
    asking.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ id, status: 0, echo: '', error: `${error.code}` }),
    );
    asking.end(id);
  });
}
