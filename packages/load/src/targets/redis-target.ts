/** A queue in Redis, whose items processors of `@batchwise/redis` run. */
import { RedisBatcher, RedisQueue } from '@batchwise/redis';
import { LoadError } from '../load-error.js';
import { errorOutcome } from './error-outcome.js';
import { certificates, unreachableText } from './http-connector.js';
import { InFlight } from './in-flight.js';
import type { Outcome, Target } from './target.js';
import type { Sample, TargetSpec } from './target-spec.js';

const OK: Outcome = { kind: 'ok', responseBytes: 0 };

export class RedisTarget implements Target {
  readonly name: string;
  readonly #spec: TargetSpec;
  readonly #queue: string;
  readonly #items: readonly unknown[];
  readonly #inFlight = new InFlight();
  #batcher: RedisBatcher<unknown, unknown> | undefined;

  constructor(spec: TargetSpec) {
    this.#spec = spec;
    this.#queue = decodeURIComponent(new URL(spec.url).pathname.slice(1));
    this.#items = itemsOf(spec.data);
    this.name = `queue ${this.#queue}`;
  }

  get connections(): number {
    return this.#batcher?.isUp ? CONNECTIONS : 0;
  }

  async prepare(): Promise<void> {
    const { url, data, timeoutMs } = this.#spec;
    const batcher = new RedisBatcher<unknown, unknown>({
      ...this.#connection(),
      queue: this.#queue,
      payload: data?.some((sample) => 'base64' in sample) ? 'bytes' : 'json',
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    this.#batcher = batcher;
    let stopListening: (() => void) | undefined;
    try {
      await Promise.race([
        batcher.ready,
        new Promise<never>((_, reject) => {
          stopListening = batcher.onConnectionChange((isUp, reason) => {
            if (!isUp && reason !== undefined) reject(reason);
          });
        }),
      ]);
    } catch (error) {
      batcher.destroy();
      const { host, hostname } = new URL(url);
      const text = unreachableText(host, hostname, rootOf(error as Error));
      throw new LoadError('UNREACHABLE', text, { cause: error });
    } finally {
      stopListening?.();
    }
    // Outages during the run are outcomes of requests, not lines on stderr.
    batcher.onConnectionChange(() => {});
    await this.#expectProcessor();
  }

  send(number: number, done: (outcome: Outcome) => void): void {
    const batcher = this.#batcher;
    if (batcher === undefined) throw new Error('A target is prepared before the first request is sent.');
    const end = this.#inFlight.begin(done);
    const { timeoutMs } = this.#spec;
    try {
      batcher.enqueue(this.#items[number % this.#items.length], {
        resolve: () => end(OK),
        reject: (error) => end(errorOutcome(error, timeoutMs)),
      });
    } catch (error) {
      end(errorOutcome(error, timeoutMs));
    }
  }

  async close(): Promise<void> {
    this.#inFlight.stop();
    // Items that are still queued are taken out of the queue.
    this.#batcher?.destroy();
    await this.#batcher?.close();
  }

  /** Requests to a queue that nothing reads would wait until the end of the run. */
  async #expectProcessor(): Promise<void> {
    const queue = new RedisQueue({ ...this.#connection(), queue: this.#queue });
    try {
      const { processors } = await queue.status();
      if (processors.some(({ seenMsAgo, leaseMs }) => seenMsAgo <= leaseMs)) return;
    } finally {
      await queue.close();
    }
    await this.close();
    throw new LoadError(
      'UNREACHABLE',
      `No processor reads the queue ${JSON.stringify(this.#queue)}. Start one, for example batchwise worker, and check the name.`,
    );
  }

  #connection() {
    const { url, tls } = this.#spec;
    const address = new URL(url);
    address.pathname = '';
    return {
      url: address.href,
      ...(tls !== undefined && {
        tls: {
          ...(tls.ca !== undefined && { ca: certificates(tls.ca) }),
          ...(tls.insecure && { rejectUnauthorized: false }),
        },
      }),
    };
  }
}

/** One submits, one reads replies. */
const CONNECTIONS = 2;

function itemsOf(data: readonly Sample[] = []): unknown[] {
  if (data.length === 0) return [null];
  return data.map((sample) => ('json' in sample ? sample.json : Buffer.from(sample.base64, 'base64')));
}

function rootOf(error: Error): Error {
  return error.cause instanceof Error ? rootOf(error.cause) : error;
}
