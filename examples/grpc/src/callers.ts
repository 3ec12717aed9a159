/** Callers of `Compute`. Each sends one item, waits for the answer, checks it, and sends the next. */
import { credentials } from '@grpc/grpc-js';
import { Inference, type InferenceClient } from './inference.js';
import { FEATURES } from './model.js';

export interface Latencies {
  /** All calls that were made. */
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Calls {
  readonly port: number;
  readonly callers: number;
  readonly seconds: number;
  /** Ends them early. */
  readonly signal: AbortSignal;
}

/** Rejects on the first call that fails or has a wrong answer. */
export async function call({ port, callers, seconds, signal }: Calls): Promise<Latencies> {
  const client = new Inference(`127.0.0.1:${port}`, credentials.createInsecure());
  const latencies: number[] = [];
  await compute(client, 0); // connects, and is not timed
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;

  async function caller(first: number): Promise<void> {
    for (let turn = first; performance.now() < endsAt && !signal.aborted; turn += 1) {
      const sentAt = performance.now();
      await compute(client, turn % 4);
      latencies.push(performance.now() - sentAt);
    }
  }

  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)));
  const tookMs = performance.now() - startedAt;
  client.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  const perSecond = (1000 * latencies.length) / tookMs;
  return { calls: latencies.length + 1, perSecond, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function compute(client: InferenceClient, label: number): Promise<void> {
  const features = Array.from({ length: FEATURES }, (_, i) => (Math.floor(i / 4) === label ? 1 : 0));
  return new Promise((resolve, reject) => {
    client.compute({ features }, (error, output) => {
      if (error !== null) reject(error);
      else if (output?.label === label) resolve();
      else reject(new Error(`expected the label ${label}, got ${output?.label}`));
    });
  });
}
