/**
 * The long version of the class check: every hostile body to every route, and bodies made at random, of repeated pieces,
 * up to the limit. Those that cost most for their bytes are told, with the seed.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MeasuredServer } from '../serve-support/event-loop-cost.js';
import { HOSTILE, type HostileBody, ROUTES } from '../serve-support/hostile-bodies.js';

const BODIES = 400;
const MOST_BYTES = 4 * 2 ** 20 - 64;
const SHOWN = 10;

interface Measured {
  readonly text: string;
  readonly ms: number;
  readonly msPerMiB: number;
}

describe('no request blocks the event loop for more than 100 ms at default limits', () => {
  let server: MeasuredServer;
  beforeAll(async () => {
    server = await MeasuredServer.start();
  });
  afterAll(() => server.close());

  async function measured({ name, path, body, headers }: HostileBody): Promise<Measured> {
    const bytes = Buffer.from(body());
    const ms = await server.cost(() => server.post(path, bytes, headers));
    const text = `${path}, ${name}: ${ms.toFixed(1)} ms for ${bytes.length} bytes`;
    return { text, ms, msPerMiB: ms / (bytes.length / 2 ** 20) };
  }

  const tooMuch = (all: readonly Measured[]) =>
    all.filter(({ ms }) => ms > server.limitMs).map(({ text }) => text);

  test('with every hostile body at every route', async () => {
    const all: Measured[] = [];
    for (const body of HOSTILE) all.push(await measured(body));
    expect(tooMuch(all)).toEqual([]);
  });

  test('with bodies made at random', async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    const random = new Random(seed);
    const all: Measured[] = [];
    for (let i = 0; i < BODIES; i++) all.push(await measured(random.body()));
    all.sort((a, b) => b.msPerMiB - a.msPerMiB);
    console.log(
      [
        `SEED=${seed}; the most expensive for their bytes:`,
        ...all.slice(0, SHOWN).map(({ text }) => text),
      ].join('\n'),
    );
    expect(tooMuch(all)).toEqual([]);
  });
});

/** Of a seed, so that what is found can be found again. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  body(): HostileBody {
    const path = this.#oneOf(ROUTES);
    const shape = this.#oneOf([
      '{"instances":[…]}',
      '{"rows":[…]}',
      '{"rows":[[…]]}',
      '[…]',
      '{…}',
      '{"parameters":{…}}',
      '{"text":"x","y":[…]}',
    ]);
    const isObject = /\{…\}/.test(shape);
    const piece = this.#piece(0);
    const size = Math.floor(MOST_BYTES ** this.#between(0.8, 1));
    const parts: string[] = [];
    for (let bytes = 0, i = 0; bytes < size; i++) {
      const text = isObject ? `"${this.#key(i)}":${piece(i)}` : piece(i);
      parts.push(text);
      bytes += Buffer.byteLength(text) + 1;
    }
    const text = shape.replace('…', () => parts.join(','));
    const isZipped = this.#next() < 0.2;
    const name = `${shape} of ${parts.length} × ${(parts[1] ?? '').slice(0, 60)}${isZipped ? ', compressed' : ''}`;
    return isZipped
      ? { name, path, body: () => gzipSync(text), headers: { 'content-encoding': 'gzip' } }
      : { name, path, body: () => text };
  }

  /** A value that may differ from its neighbours by its index. */
  #piece(depth: number): (index: number) => string {
    const kind = Math.floor(this.#between(0, depth > 3 ? 12 : 16));
    const width = 1 + Math.floor(this.#next() ** 3 * 40);
    if (kind < 12) {
      const leaves: ((index: number) => string)[] = [
        () => '0',
        (index) => `${index}`,
        (index) => `${index / 7}`,
        () => '-1e-400',
        () => '1e400',
        () => `1${'0'.repeat(width)}`,
        () => '""',
        (index) => `"${index.toString(36)}"`,
        () => `"${'é'.repeat(width)}"`,
        () => `"${'\\u00e9'.repeat(width)}"`,
        () => 'null',
        () => '{"b64":"AAAA"}',
      ];
      return leaves[kind] as (index: number) => string;
    }
    const inner = this.#piece(depth + 1);
    if (kind === 12) return (index) => `[${inner(index)}]`;
    if (kind === 13) return (index) => `[${Array.from({ length: width }, () => inner(index)).join(',')}]`;
    if (kind === 14) return (index) => `{"sepal_length":${inner(index)}}`;
    return (index) => `{"${this.#key(index)}":${inner(index)}}`;
  }

  #key(index: number): string {
    return this.#oneOf(['a', '__proto__', `${index}`, `k${index.toString(36)}`, `\\u005f${index}`]);
  }

  #oneOf<T>(values: readonly T[]): T {
    return values[Math.floor(this.#next() * values.length)] as T;
  }

  #between(least: number, most: number): number {
    return least + this.#next() * (most - least);
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
