import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HttpRoute } from '../../src/http/http-route.js';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

type Step =
  | { readonly kind: 'root' | 'held' | 'missing' }
  | { readonly kind: 'echo' | 'chunked'; readonly text: string };

const text = fc.string({ minLength: 1, maxLength: 300 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('root' as const, 'held' as const, 'missing' as const) }),
  fc.record({ kind: fc.constantFrom('echo' as const, 'chunked' as const), text }),
);

test('however requests are cut into packets and answered out of turn, each gets its own answer in its turn', async () => {
  const stage = await HttpStage.open();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(400), { maxLength: 20 }),
      fc.infiniteStream(fc.nat()),
      async (steps, cuts, picks) => {
        stage.held.length = 0;
        const client = await stage.client();
        let rest = Buffer.concat(steps.map(bytesOf));
        for (const cut of cuts) {
          client.send(rest.subarray(0, cut));
          rest = rest.subarray(cut);
          await new Promise(setImmediate);
        }
        client.send(rest);

        await stage.until(() => stage.held.length === steps.filter(({ kind }) => kind === 'held').length);
        const waiting = stage.held.map((call, i) => ({ call, i }));
        while (waiting.length > 0) {
          const [one] = waiting.splice((picks.next().value as number) % waiting.length, 1);
          one?.call.reply(200, {}, `held ${one.i}`);
        }

        let held = 0;
        for (const { kind, ...more } of steps) {
          const { status, body } = await client.answer();
          expect(status).toBe(kind === 'missing' ? 404 : 200);
          if (kind === 'root') expect(body).toBe('root');
          else if (kind === 'held') expect(body).toBe(`held ${held++}`);
          else if (kind !== 'missing') expect(body).toBe((more as { text: string }).text);
        }
        expect(client.unread).toBe('');
        client.hangUp();
      },
    ),
    { numRuns: 30 },
  );
  expect(stage.started).toHaveLength(stage.ended.length);
  expect(stage.server.inFlight).toBe(0);
});

// All that had come of a client was begun in one turn of the event loop, where its answers were ready at once: 200 clients
// with 1000 requests each kept everybody else, and all timers, waiting until the last of them.
test('a client that asks for much at once leaves others their turn', async () => {
  const stage = await HttpStage.open();
  const [many, one] = [await stage.client(), await stage.client()];
  many.send(get('/').repeat(1000));
  await stage.until(() => stage.ended.length > 0);
  one.send(get('/health'));
  expect((await one.answer()).body).toBe('well');
  expect(stage.ended.length).toBeLessThan(1000);
  for (let i = 0; i < 1000; i++) expect((await many.answer()).body).toBe('root');
  expect(many.unread).toBe('');
});

test('what a client asked before it closed its side is answered, however much at once', async () => {
  const stage = await HttpStage.open();
  const client = await stage.client();
  client.socket.end(get('/').repeat(1000));
  for (let i = 0; i < 1000; i++) expect((await client.answer()).body).toBe('root');
  await client.closed();
});

function bytesOf(step: Step): Buffer {
  switch (step.kind) {
    case 'root':
      return Buffer.from(get('/'));
    case 'held':
      return post('/held', 'x');
    case 'missing':
      return post('/missing', 'a body that nobody reads');
    case 'echo':
      return post('/echo', step.text);
    case 'chunked': {
      const chunks = step.text.match(/.{1,7}/gsu) ?? [];
      const coded = chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
      return Buffer.from(
        `POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${coded.join('')}0\r\n\r\n`,
      );
    }
  }
}

test('requests that are answered in microtasks leave turns to others', async () => {
  let inTurn = 0;
  let most = 0;
  const route: HttpRoute = {
    method: 'GET',
    path: '/soon',
    async handle(call) {
      inTurn += 1;
      most = Math.max(most, inTurn);
      await Promise.resolve();
      call.reply(200, {}, 'x');
    },
  };
  const stage = await HttpStage.open({}, [route]);
  const client = await stage.client();
  client.send(get('/soon').repeat(1000));
  let isDone = false;
  const turn = () => {
    inTurn = 0;
    if (!isDone) setImmediate(turn);
  };
  turn();
  for (let i = 0; i < 1000; i++) await client.answer();
  isDone = true;
  expect(most).toBeLessThan(100);
});
