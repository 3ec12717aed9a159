/** Traffic for one endpoint: callers that wait for each answer, and a burst that overloads it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onBatch } from 'batchwise';

/** Sends one request with a JSON body. */
export type Send = (body: string) => Promise<Response>;

export interface Rates {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanBatchSize: number;
}

export interface Burst {
  readonly answered: number;
  readonly rejected: number;
  /** The header `retry-after` of the first rejected request. */
  readonly retryAfter: string;
}

const FLOWERS = [
  { body: '{"measures": [5.1, 3.5, 1.4, 0.2]}', answer: '{"species":"setosa"}' },
  { body: '{"measures": [5.7, 2.8, 4.1, 1.3]}', answer: '{"species":"versicolor"}' },
  { body: '{"measures": [6.5, 3.0, 5.8, 2.2]}', answer: '{"species":"virginica"}' },
];

/** Each caller sends a request, waits for the answer and sends the next. Throws on an answer that is wrong. */
export async function measure(send: Send, callers: number, seconds: number): Promise<Rates> {
  const latencies: number[] = [];
  let batches = 0;
  let items = 0;
  const stopListening = onBatch(({ size }) => {
    batches += 1;
    items += size;
  });
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let turn = caller; performance.now() < endsAt; turn += 1) {
        const sentAt = performance.now();
        await classified(send, turn);
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  const tookMs = performance.now() - startedAt;
  stopListening();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  return {
    perSecond: (1000 * latencies.length) / tookMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    meanBatchSize: items / batches,
  };
}

/** Sends requests without waiting for answers: more than can be answered within `targetLatencyMs`. */
export async function overload(send: Send, requests: number): Promise<Burst> {
  let answered = 0;
  let rejected = 0;
  let retryAfter = '-';
  const one = async (turn: number) => {
    const response = await send(flower(turn).body);
    const text = await response.text();
    if (response.status === 200) answered += 1;
    else if (response.status !== 429) throw new Error(`expected 200 or 429, got ${response.status} ${text}`);
    else {
      rejected += 1;
      if (rejected === 1) retryAfter = response.headers.get('retry-after') ?? '-';
    }
  };
  const sent: Promise<void>[] = [];
  for (let turn = 0; turn < requests; turn += 1) {
    sent.push(one(turn));
    await nextTurn();
  }
  await Promise.all(sent);
  return { answered, rejected, retryAfter };
}

async function classified(send: Send, turn: number): Promise<void> {
  const { body, answer } = flower(turn);
  const response = await send(body);
  const text = await response.text();
  if (response.status !== 200 || text !== answer) {
    throw new Error(`expected 200 ${answer}, got ${response.status} ${text}`);
  }
}

function flower(turn: number) {
  const { [turn % FLOWERS.length]: chosen } = FLOWERS;
  if (chosen === undefined) throw new Error('there are no flowers to send');
  return chosen;
}
