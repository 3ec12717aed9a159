/** Callers of a route. Each posts the sample, waits for the answer, checks it, and posts it again. */
import { readFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

export interface Latencies {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Calls {
  readonly url: string;
  readonly callers: number;
  readonly seconds: number;
  /** Ends them early. */
  readonly signal: AbortSignal;
}

const ANSWER = '{"species":"versicolor","digit":1}';
const SAMPLE = await readFile(new URL('../sample.json', import.meta.url));

/** Rejects on the first answer that is wrong. */
export async function call({ url, callers, seconds, signal }: Calls): Promise<Latencies> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;

  async function caller(): Promise<void> {
    while (performance.now() < endsAt && !signal.aborted) {
      const postedAt = performance.now();
      const answer = await post(url, agent);
      if (answer !== ANSWER) throw new Error(`expected ${ANSWER}, got ${answer}`);
      latencies.push(performance.now() - postedAt);
    }
  }

  await Promise.all(Array.from({ length: callers }, caller));
  const tookMs = performance.now() - startedAt;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  return { perSecond: (1000 * latencies.length) / tookMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

async function post(url: string, agent: Agent): Promise<string> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    request(url, { method: 'POST', agent, headers }, resolve).on('error', reject).end(SAMPLE);
  });
  return textOf(response);
}
