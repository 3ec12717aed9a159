/** Looks at a queue from outside, and does to it what only its operator or a broken program could. */
import { type Argument, openLink, type RedisLink, type Reply } from '../../src/connection/link.js';
import { GROUP, LEVELS, type QueueKeys, queueKeys } from '../../src/queue-keys.js';

export class QueueInspector implements AsyncDisposable {
  readonly keys: QueueKeys;
  readonly #link: RedisLink;

  constructor(url: string, queue: string) {
    this.keys = queueKeys(queue);
    this.#link = openLink({ url, replies: 'text', name: 'inspector' });
  }

  send(...command: readonly Argument[]): Promise<Reply> {
    return this.#link.send(this.keys.processors, command);
  }

  /** Items waiting or running. */
  async outstanding(): Promise<number> {
    const lengths = await Promise.all(this.keys.requests.map((stream) => this.send('XLEN', stream)));
    return lengths.reduce<number>((sum, length) => sum + Number(length), 0);
  }

  /** Items that were ever queued. */
  async submitted(): Promise<number> {
    const streams = await Promise.all(
      this.keys.requests.map((stream) => this.send('XINFO', 'STREAM', stream)),
    );
    return streams.reduce<number>((sum, info) => sum + numberIn(info, 'entries-added'), 0);
  }

  /** Items that were ever given to a processor. */
  async delivered(): Promise<number> {
    const streams = await Promise.all(
      this.keys.requests.map((stream) => this.send('XINFO', 'GROUPS', stream)),
    );
    return (streams as Reply[][])
      .flat()
      .reduce<number>((sum, info) => sum + numberIn(info, 'entries-read'), 0);
  }

  /** Items that somebody, or this consumer, holds. */
  async pending(consumer?: string): Promise<number> {
    let count = 0;
    for (const level of LEVELS) {
      const stream = this.keys.requests[level - 1] as string;
      const whose = consumer === undefined ? [] : [consumer];
      const entries = await this.send('XPENDING', stream, GROUP, '-', '+', '100000', ...whose);
      count += (entries as readonly Reply[]).length;
    }
    return count;
  }

  /** Items that are held, but by somebody who has been silent for so long. */
  async lapsed(silenceMs: number): Promise<number> {
    let count = 0;
    for (const stream of this.keys.requests) {
      const idle = ['IDLE', String(silenceMs), '-', '+', '100000'];
      count += ((await this.send('XPENDING', stream, GROUP, ...idle)) as readonly Reply[]).length;
    }
    return count;
  }

  /** Processors, of whatever queue, whose read waits for items in Redis. */
  async waitingReads(): Promise<number> {
    const clients = String(await this.send('CLIENT', 'LIST')).split('\n');
    return clients.filter((client) => / flags=\w*b/.test(client) && client.includes(' cmd=xreadgroup'))
      .length;
  }

  /** The names that the group knows, of processors that live or have lived. */
  async consumers(): Promise<string[]> {
    const names = new Set<string>();
    for (const stream of this.keys.requests) {
      for (const consumer of (await this.send('XINFO', 'CONSUMERS', stream, GROUP)) as Reply[][]) {
        names.add(String(consumer[1]));
      }
    }
    return [...names].sort();
  }

  /** All keys of this queue, in order. */
  async allKeys(): Promise<string[]> {
    const [prefix = ''] = this.keys.processors.split('processors');
    const escaped = prefix.replace(/[[\]?*\\]/g, '\\$&');
    return ((await this.send('KEYS', `${escaped}*`)) as string[]).sort();
  }

  async deadLetters(): Promise<number> {
    return Number(await this.send('XLEN', this.keys.dead));
  }

  /** As a processor does that dies right after its read: these items are its own, and nobody runs them. */
  async takeAsIfDead(consumer: string, count: number): Promise<void> {
    const [, normal] = this.keys.requests;
    await this.send('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', String(count), 'STREAMS', normal, '>');
  }

  /** This consumer has been silent, and so has what it holds, for longer than any lease. */
  async letLapse(consumer: string): Promise<number> {
    let count = 0;
    for (const stream of this.keys.requests) {
      const entries = (await this.send('XPENDING', stream, GROUP, '-', '+', '100000', consumer)) as Reply[][];
      for (const [id] of entries) {
        count += 1;
        const deliveries = String(entries.find((entry) => entry[0] === id)?.[3]);
        const long = ['IDLE', '100000000', 'RETRYCOUNT', deliveries, 'JUSTID'];
        await this.send('XCLAIM', stream, GROUP, consumer, '0', String(id), ...long);
      }
    }
    const beat = await this.send('HGET', this.keys.processors, consumer);
    if (beat !== null) {
      const [seen, ...said] = String(beat).split(' ');
      const before = String(Number(seen) - 100_000_000);
      await this.send('HSET', this.keys.processors, consumer, [before, ...said].join(' '));
    }
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#link.destroy();
  }
}

/** Of what Redis tells as names and values in turn. */
function numberIn(info: Reply, name: string): number {
  const fields = info as readonly Reply[];
  return Number(fields[fields.indexOf(name) + 1]);
}
