/**
 * All events at the same time: callers that complete, cancel and exceed deadlines; backends that answer, fail, reset
 * streams and die. Every call must end with its own answer, and all resources must be released.
 */
import { constants } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { eventually } from '../../../redis/test/support/eventually.js';
import { freePort } from '../../../redis/test/support/free-port.js';
import { framed } from '../support/framing.js';
import { type Proxied, proxied } from '../support/proxied.js';
import { type RawBackend, rawBackend, type Step } from '../support/raw-backend.js';
import { answerOf, type RawClient, rawClient } from '../support/raw-client.js';

const half: Step = { do: 'echo', count: 2 };
const ALL_STEPS: readonly (readonly Step[])[] = [
  [{ do: 'echo' }, { do: 'end' }],
  [{ do: 'echo' }, { do: 'end' }],
  [{ do: 'delay', ms: 5, perItemMs: 1 }, { do: 'echo' }, { do: 'end' }],
  [half, { do: 'delay', ms: 10, perItemMs: 0 }, { do: 'echo' }, { do: 'end' }],
  [half, { do: 'end' }],
  [half, { do: 'end', status: 9, message: 'enough' }],
  [half, { do: 'reset', code: constants.NGHTTP2_CANCEL }],
  [{ do: 'reset', code: constants.NGHTTP2_REFUSED_STREAM }],
  [{ do: 'reset', code: constants.NGHTTP2_INTERNAL_ERROR }],
  [{ do: 'trailers only', status: 14, message: 'not now' }],
  [{ do: 'http', status: 503 }],
  [half, { do: 'write', hex: '09'.repeat(20) }, { do: 'reset', code: constants.NGHTTP2_INTERNAL_ERROR }],
  [half, { do: 'end without trailers' }],
  [half, { do: 'goaway' }, { do: 'echo' }, { do: 'end' }],
  [{ do: 'goaway' }, { do: 'echo' }, { do: 'end' }],
  [half, { do: 'destroy' }],
  [
    { do: 'headers', headers: { 'batchwise-item-error': ['0 3 no', '2 5 neither'] } },
    { do: 'echo' },
    { do: 'end' },
  ],
  [{ do: 'echo' }, { do: 'write', hex: framed('one too many').toString('hex') }, { do: 'end' }],
  [{ do: 'at once' }, { do: 'trailers only', status: 7, message: 'not you' }],
];

/** The methods share the backends; the last one is passed through. */
const paths = [
  '/test.Echo/Compute',
  '/test.Echo/Compute',
  '/test.Other/Compute',
  '/test.Echo/Rank',
  '/test.Echo/Other',
];

/** A call that takes longer hangs. On a busy machine the slowest calls take seconds. */
const STUCK_MS = 120_000;

async function within<T>(limitMs: number, result: Promise<T>, call: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`expected the call to end within ${limitMs} ms: ${call}`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([result, stuck]);
  } finally {
    clearTimeout(timer);
  }
}

interface Tally {
  correct: number;
  incorrect: string[];
  statuses: Map<number, number>;
}

/** One caller: repeats calls, sometimes with a cancellation or a short deadline. */
async function caller(client: RawClient, name: string, tally: Tally, isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count += 1) {
    const message = `${name}.${count}.${'x'.repeat(Math.random() < 0.1 ? 50_000 : 10)}`;
    const kind = Math.random();
    const path = paths[Math.floor(Math.random() * paths.length)];
    const timeout = `${1 + Math.floor(Math.random() * 40)}m`;
    const stream = client.open(kind < 0.3 ? { 'grpc-timeout': timeout } : {}, path);
    const answering = answerOf(stream);
    stream.end(framed(message));
    if (kind > 0.8) {
      for (let turns = Math.floor(Math.random() * 30); turns > 0; turns -= 1)
        await new Promise<void>((resolve) => setImmediate(resolve));
      stream.close(constants.NGHTTP2_CANCEL);
    }
    const { status, text } = await within(STUCK_MS, answering, `${path}, ${message.slice(0, 10)}, ${kind}`);
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    if (status !== 0) continue;
    if (text === message) tally.correct += 1;
    else tally.incorrect.push(`${message.slice(0, 20)} got ${text.slice(0, 20)}`);
  }
}

async function isAtRest({ proxy }: Proxied): Promise<void> {
  await eventually('nothing to be in flight', () => {
    const { openCalls, queuedBytes, backends, methods } = proxy.stats();
    const running = backends.reduce((sum, { batchesInFlight }) => sum + batchesInFlight, 0);
    const waiting = Object.values(methods).reduce((sum, method) => sum + method.queued + method.running, 0);
    return openCalls + queuedBytes + running + waiting === 0;
  });
  for (const method of Object.values(proxy.stats().methods)) {
    const { submitted, succeeded, failed, refused, cancelled, expired } = method;
    expect(succeeded + failed + refused + cancelled + expired).toBe(submitted);
  }
}

/** A batch may be retried only if its stream was refused before the backend started it. */
function timesBegun(backends: readonly RawBackend[]): Map<string, number> {
  const begun = new Map<string, number>();
  for (const backend of backends)
    for (const { id, texts } of backend.streams) {
      if (backend.closed(id)?.rstCode === constants.NGHTTP2_REFUSED_STREAM) continue;
      for (const text of texts.filter((one) => one !== '')) begun.set(text, (begun.get(text) ?? 0) + 1);
    }
  return begun;
}

it('every call ends with its own answer, and all resources are released', async () => {
  const port = await freePort();
  const backends: RawBackend[] = [await rawBackend(), await rawBackend({ port })];
  const everyone = [...backends];
  const running = await proxied(backends, {
    methods: [
      { method: '*/Compute', maxBatchSize: 6, maxQueueSize: 40 },
      { method: '/test.Echo/Rank', maxBatchSize: 3, maxWaitMs: 5 },
    ],
    maxBatchesInFlight: 2,
    ejection: { failures: 5, durationMs: 50 },
    healthCheck: { intervalMs: 40, timeoutMs: 500 },
  });
  for (const backend of backends) await backend.behaveAnyhow(...ALL_STEPS);
  const tally: Tally = { correct: 0, incorrect: [], statuses: new Map() };
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const clients = Array.from({ length: 3 }, () => rawClient(running.port));
  const callers = clients.flatMap((client, index) =>
    Array.from({ length: 12 }, (_, user) => caller(client, `${index}.${user}`, tally, () => isOver)),
  );
  for (let round = 0; round < shortOrLong(3, 200); round += 1) {
    const before = tally.correct;
    await eventually('three hundred correct answers', () => tally.correct > before + 300);
    await backends.pop()?.kill();
    const again = await rawBackend({ port });
    await again.behaveAnyhow(...ALL_STEPS);
    backends.push(again);
    everyone.push(again);
  }
  isOver = true;
  await Promise.all(callers);
  expect(tally.incorrect).toEqual([]);
  for (const backend of backends) await backend.flushed();
  expect([...timesBegun(everyone)].filter(([, times]) => times > 1)).toEqual([]);
  // -1 stands for cancelled calls; the others have a defined status.
  expect(
    [...tally.statuses.keys()].filter((status) => ![-1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 14].includes(status)),
  ).toEqual([]);
  await isAtRest(running);

  for (const backend of backends) await backend.behave({ do: 'echo' }, { do: 'end' });
  const client = rawClient(running.port);
  const called = (text: string) => within(STUCK_MS, client.call(text), text);
  await eventually('calls to succeed', async () => (await called('x')).status === 0);
  const calm = await Promise.all(Array.from({ length: 30 }, (_, index) => called(`${index}`)));
  expect(calm.map(({ status, text }) => [status, text])).toEqual(calm.map((_, index) => [0, `${index}`]));
  await isAtRest(running);
});
