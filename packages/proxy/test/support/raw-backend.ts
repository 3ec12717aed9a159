/** Controls programs/raw-backend.mjs: a backend in a separate process that misbehaves on command. */
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Child, startChild } from '../../../redis/test/support/child.js';

export type Step =
  /** Only as the first step: the steps start before the end of the request. */
  | { readonly do: 'at once' }
  | { readonly do: 'nothing' }
  /** Stops reading the request: the backend receives only one flow-control window. */
  | { readonly do: 'read no more' }
  /** Pauses the steps until the test releases this name. */
  | { readonly do: 'hold'; readonly name: string }
  /** A service time. Only for comparing speeds, never for the order of events. */
  | { readonly do: 'delay'; readonly ms: number; readonly perItemMs: number }
  | { readonly do: 'headers'; readonly headers: Record<string, string | string[]> }
  /** Echoes the next `count` messages, or all remaining ones, with `mark` appended. */
  | {
      readonly do: 'echo';
      readonly count?: number;
      readonly mark?: string;
      readonly cuts?: readonly number[];
    }
  | { readonly do: 'write'; readonly hex: string }
  | ({ readonly do: 'end' } & StreamStatus)
  | { readonly do: 'end without trailers' }
  | ({ readonly do: 'trailers only' } & StreamStatus)
  | { readonly do: 'http'; readonly status: number; readonly body?: string }
  | { readonly do: 'reset'; readonly code: number }
  | { readonly do: 'goaway'; readonly code?: number; readonly last?: 'this' | 'before' }
  /** Closes the connection without GOAWAY. */
  | { readonly do: 'destroy' };

export interface StreamStatus {
  readonly status?: number;
  readonly message?: string;
  readonly trailers?: Record<string, string | string[]>;
}

/** A received stream. The messages are complete when the peer has ended it. */
export interface SeenStream {
  readonly id: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turn, unmodified. */
  readonly rawHeaders: readonly string[];
  readonly items: readonly SeenItem[];
  readonly texts: readonly string[];
}

export interface SeenItem {
  readonly length: number;
  readonly flag: number;
  readonly base64?: string;
}

export interface ClosedStream {
  readonly id: number;
  readonly rstCode: number;
  readonly aborted: boolean;
  readonly answered: number;
}

export interface RawBackendOptions {
  readonly port?: number;
  readonly tls?: Record<string, unknown>;
  readonly settings?: Record<string, number>;
}

interface Begun {
  readonly type: 'begun';
  readonly id: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
}
interface Received {
  readonly type: 'received';
  readonly id: number;
  readonly items: readonly SeenItem[];
}
type BackendEvent =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'session' | 'session closed'; readonly open: number }
  | Begun
  | Received
  | { readonly type: 'held'; readonly id: number; readonly name: string }
  | ({ readonly type: 'closed' } & ClosedStream)
  | { readonly type: 'health check'; readonly health: string }
  | { readonly type: 'done'; readonly request: number };

const program = fileURLToPath(new URL('programs/raw-backend.mjs', import.meta.url));

/** Ended after the current test. */
export async function rawBackend(options: RawBackendOptions = {}): Promise<RawBackend> {
  const child = startChild(program, { args: [JSON.stringify(options)] });
  onTestFinished(() => child[Symbol.asyncDispose]());
  const listening = await child.until<BackendEvent>(({ type }) => type === 'listening');
  if (listening.type !== 'listening') throw new Error('expected a port');
  return new RawBackend(child, listening.port);
}

export class RawBackend {
  readonly port: number;
  readonly #child: Child;
  #requests = 0;
  #nextStream = 0;

  constructor(child: Child, port: number) {
    this.#child = child;
    this.port = port;
  }

  get target(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Replaces the steps from the next stream on. */
  async behave(...steps: readonly Step[]): Promise<void> {
    await this.#request({ behave: { steps }, forget: true });
  }

  /** The first matching entry applies to a stream; streams without an entry are echoed. */
  async behaveOnce(...behaviours: readonly (readonly Step[])[]): Promise<void> {
    await this.#request({ forget: true });
    for (const steps of behaviours) await this.#request({ behave: { steps, times: 1 } });
  }

  /** A random entry for each stream. */
  async behaveAnyhow(...choices: readonly (readonly Step[])[]): Promise<void> {
    await this.#request({ behave: { choices }, forget: true });
  }

  /** The steps for the streams of one method. */
  async behaveFor(path: string, ...steps: readonly Step[]): Promise<void> {
    await this.#request({ behave: { steps, path } });
  }

  async perform(stream: number, ...steps: readonly Step[]): Promise<void> {
    await this.#request({ stream, steps });
  }

  /** Releases all streams that are held by this name, in one event-loop turn. */
  async release(name: string): Promise<void> {
    await this.#request({ release: name });
  }

  /** The status in health checks; initially serving. */
  async setHealth(health: 'serving' | 'not serving' | 'unimplemented' | 'silent'): Promise<void> {
    await this.#request({ health });
  }

  /** Resolves after a health check with the current status. */
  async untilChecked(health: string): Promise<void> {
    await this.#child.until<BackendEvent>((one) => one.type === 'health check' && one.health === health);
  }

  /** Sends GOAWAY on every connection. */
  async goAway(code = 0): Promise<void> {
    await this.#request({ goaway: code });
  }

  /** The next completely received stream, in the order of their ends. Each is returned once. */
  async nextStream(): Promise<SeenStream> {
    for (;;) {
      const index = this.#nextStream;
      const event = await this.#child.until<BackendEvent>(() => true, index);
      this.#nextStream = index + 1;
      if (event.type === 'received') return this.#seen(event);
    }
  }

  /** Resolves when all events of the backend up to now are received. Events arrive in order. */
  async flushed(): Promise<void> {
    await this.#request({});
  }

  /** All completely received streams. */
  get streams(): readonly SeenStream[] {
    return this.#events.filter((event) => event.type === 'received').map((event) => this.#seen(event));
  }

  get begun(): number {
    return this.#events.filter(({ type }) => type === 'begun').length;
  }

  /** The id of the `count`th stream that is held by this name. */
  async untilHeld(name: string, count = 1): Promise<number> {
    let left = count;
    const event = await this.#child.until<BackendEvent>(
      (one) => one.type === 'held' && one.name === name && --left === 0,
    );
    return event.type === 'held' ? event.id : 0;
  }

  async untilClosed(id: number): Promise<ClosedStream> {
    const event = await this.#child.until<BackendEvent>((one) => one.type === 'closed' && one.id === id);
    if (event.type !== 'closed') throw new Error('expected a closed stream');
    return event;
  }

  /** Undefined while it is open. */
  closed(id: number): ClosedStream | undefined {
    return this.#events.find((event) => event.type === 'closed' && event.id === id) as
      | ClosedStream
      | undefined;
  }

  async untilSessions(count: number): Promise<void> {
    await this.#child.until<BackendEvent>((one) => 'open' in one && one.open === count);
  }

  kill(signal?: NodeJS.Signals): Promise<unknown> {
    return this.#child.kill(signal);
  }

  /** Freezes the process, like a machine that fails silently. */
  freeze(): void {
    this.#child.stop();
  }

  thaw(): void {
    this.#child.cont();
  }

  get #events(): readonly BackendEvent[] {
    return this.#child.messages as readonly BackendEvent[];
  }

  #seen({ id, items }: Received): SeenStream {
    const begun = this.#events.find((event): event is Begun => event.type === 'begun' && event.id === id);
    if (begun === undefined) throw new Error(`expected stream ${id} to have begun before it ended`);
    const texts = items.map(({ base64 = '' }) => Buffer.from(base64, 'base64').toString());
    const { path, headers, rawHeaders } = begun;
    return { id, path, headers, rawHeaders, items, texts };
  }

  async #request(message: Record<string, unknown>): Promise<void> {
    const request = ++this.#requests;
    const from = this.#child.messages.length;
    this.#child.send({ ...message, request } as never);
    await this.#child.until<BackendEvent>(
      (event) => event.type === 'done' && event.request === request,
      from,
    );
  }
}
