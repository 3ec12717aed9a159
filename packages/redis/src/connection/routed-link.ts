/** Carries commands out: what is done about each kind of failure is decided here, where the connections are is not. */
import { type Clock, realClock } from 'batchwise';
import { backOffMs } from './back-off.js';
import type { LineEvents } from './line.js';
import type { Argument, RedisLink, Reply } from './link.js';
import { LinkClosedError, LinkLostError, ReplyError } from './link-errors.js';
import {
  type Address,
  DEFAULT_REPLY_TIMEOUT_MS,
  type NodeConnection,
  type NodeOptions,
} from './node-connection.js';
import type { OutageReport } from './outage-report.js';
import { verdictOn } from './reply-verdict.js';
import type { Routes } from './routes.js';
import type { Script } from './script.js';
import { SideConnections } from './side-connections.js';
import { blockingMs, shortened } from './silence-watch.js';

/** A command on its way to its reply. */
interface Call {
  readonly key: string;
  /** What to send; a script is sent by its text once Redis does not know its digest. */
  command: readonly Argument[];
  readonly script?: Script;
  readonly isSafeToRepeat: boolean;
  /** Its caller no longer waits: it was aborted, or unblocked. */
  isAbandoned: boolean;
  /** How often it was put off. */
  attempts: number;
}

/** A read that waits for entries. */
interface BlockingRead {
  readonly key: string;
  /** Where it waits, once it does. */
  connection: NodeConnection | undefined;
  /** Ends it where it waits for a connection, not for entries. */
  readonly giveUp: () => void;
  readonly settled: Promise<void>;
  isSettled: boolean;
}

export class RoutedLink implements RedisLink {
  readonly #routes: Routes;
  /** To nodes that take a command just this once. */
  readonly #detours: SideConnections;
  /** To say something to Redis while the link itself is blocked. */
  readonly #asides: SideConnections;
  readonly #clock: Clock;
  readonly #longestBlockMs: number;
  readonly #report: OutageReport | undefined;
  readonly #upListeners: (() => void)[] = [];
  readonly #downListeners: ((error: Error) => void)[] = [];
  readonly #pauses = new Set<() => void>();
  readonly #blockingReads = new Set<BlockingRead>();
  #told: 'up' | 'down' | undefined;
  #failure: Error | undefined;
  #underWay = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #whenIdle: (() => void)[] = [];

  constructor(routes: (events: LineEvents) => Routes, node: NodeOptions, report?: OutageReport) {
    this.#clock = node.clock ?? realClock;
    this.#longestBlockMs = (node.replyTimeoutMs ?? DEFAULT_REPLY_TIMEOUT_MS) / 2;
    this.#report = report;
    this.#detours = new SideConnections(node);
    this.#asides = new SideConnections(node);
    this.#routes = routes({
      onUp: () => this.#onUp(),
      onDown: (error) => this.#onDown(error),
      onFailure: (error) => this.#onFailure(error),
    });
  }

  /** Opens the connection for this key, if there is none. */
  connectFor(key: string): void {
    this.#routes.lineFor(key);
  }

  get isUp(): boolean {
    return this.#routes.isUp;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  onUp(listener: () => void): void {
    this.#upListeners.push(listener);
  }

  onDown(listener: (error: Error) => void): void {
    this.#downListeners.push(listener);
  }

  send(key: string, asked: readonly Argument[]): Promise<Reply> {
    const command = shortened(asked, this.#longestBlockMs);
    const call: Call = { key, command, isSafeToRepeat: false, isAbandoned: false, attempts: 0 };
    return this.#take(call, () =>
      blockingMs(command) > 0 ? this.#readBlocking(call) : this.#carryOut(call),
    );
  }

  run(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Reply> {
    const command = ['EVALSHA', script.sha1, String(keys.length), ...keys, ...args];
    const key = keys[0] ?? '';
    const call: Call = { key, command, script, isSafeToRepeat: true, isAbandoned: false, attempts: 0 };
    return this.#take(call, () =>
      signal === undefined ? this.#carryOut(call) : untilAborted(signal, () => this.#carryOut(call)),
    );
  }

  async unblock(key: string): Promise<void> {
    if (this.#state === 'closed') return;
    const line = this.#routes.lineFor(key);
    const waiting = [...this.#blockingReads].filter((read) => this.#routes.lineFor(read.key) === line);
    await Promise.all(waiting.map((read) => this.#unblock(read)));
  }

  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    this.destroy();
  }

  destroy(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#report?.ended();
    this.#routes.destroy();
    this.#detours.destroy();
    this.#asides.destroy();
    for (const end of [...this.#pauses]) end();
  }

  async #take(call: Call, start: () => Promise<Reply>): Promise<Reply> {
    if (this.#state !== 'open') throw new LinkClosedError();
    this.#underWay += 1;
    try {
      return await start();
    } finally {
      call.isAbandoned = true;
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  async #carryOut(call: Call, read?: BlockingRead): Promise<Reply> {
    let detour: Address | undefined;
    for (;;) {
      const line = this.#routes.lineFor(call.key);
      // Where it can be, it is written before this returns.
      const connection =
        detour === undefined
          ? (line.connection ?? (await line.whenUp()))
          : await this.#detourTo(detour, call);
      if (this.#state === 'closed' || call.isAbandoned) throw new LinkClosedError();
      if (connection === undefined || !connection.isOpen) {
        detour = undefined;
        continue;
      }
      if (read !== undefined) read.connection = connection;
      try {
        // ASKING holds for the next command only, so both are handed over at once. A failure is told by that one too.
        if (detour !== undefined) connection.send(['ASKING']).catch(() => {});
        return await connection.send(call.command);
      } catch (error) {
        if (read !== undefined) read.connection = undefined;
        detour = await this.#afterError(error, call, connection, detour !== undefined);
      }
    }
  }

  /** Undefined when it cannot be made: nothing was sent, and by and by the slot will be somewhere. */
  async #detourTo(address: Address, call: Call): Promise<NodeConnection | undefined> {
    try {
      return await this.#detours.to(address);
    } catch {
      await this.#pause(call);
      return undefined;
    }
  }

  /**
   * Returns when it is time for the next attempt, with the node to make it at if it is not the usual one; throws when
   * there is to be none.
   */
  async #afterError(
    error: unknown,
    call: Call,
    connection: NodeConnection,
    wasDetour: boolean,
  ): Promise<Address | undefined> {
    if (this.#state === 'closed') throw new LinkClosedError();
    if (error instanceof LinkLostError && call.isSafeToRepeat) return undefined;
    if (!(error instanceof ReplyError)) throw error;

    const verdict = verdictOn(error, connection.address);
    switch (verdict.kind) {
      case 'later':
        await this.#pause(call);
        return undefined;
      case 'elsewhere':
        if (wasDetour) await this.#pause(call);
        else this.#routes.lineFor(call.key).leave(connection, error);
        return undefined;
      case 'moved':
        if (wasDetour) await this.#pause(call);
        else this.#move(call, connection, verdict.to, error);
        return undefined;
      case 'ask':
        if (wasDetour) await this.#pause(call);
        return wasDetour ? undefined : verdict.to;
      case 'no-script':
        if (call.script === undefined || call.command[0] === 'EVAL') throw error;
        call.command = ['EVAL', call.script.source, ...call.command.slice(2)];
        return undefined;
      case 'failed':
        throw error;
    }
  }

  #move({ key }: Call, connection: NodeConnection, to: Address, reason: Error): void {
    const line = this.#routes.lineFor(key);
    // Others of the same slot have been told the same, and one of them has seen to it.
    if (line.connection !== connection) return;
    this.#routes.moved(key, to);
    this.#detours.retire();
    line.leave(connection, reason, { isNextKnown: true });
  }

  async #readBlocking(call: Call): Promise<Reply> {
    let giveUp = () => {};
    let settle = () => {};
    const gaveUp = new Promise<null>((resolve) => {
      giveUp = () => resolve(null);
    });
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const read: BlockingRead = { key: call.key, connection: undefined, giveUp, settled, isSettled: false };
    this.#blockingReads.add(read);
    try {
      return await Promise.race([this.#carryOut(call, read), gaveUp]);
    } finally {
      this.#blockingReads.delete(read);
      read.isSettled = true;
      settle();
    }
  }

  async #unblock(read: BlockingRead): Promise<void> {
    for (let attempt = 1; !read.isSettled; attempt += 1) {
      if (read.connection === undefined) return read.giveUp();
      // Redis may not have read the command yet, and then has nothing to unblock: asked again until it returns.
      await Promise.race([this.#tellUnblock(read.connection), read.settled]);
      const aMoment = new Promise((resolve) =>
        this.#clock.setTimer(() => resolve(null), Math.min(attempt, 50)),
      );
      await Promise.race([aMoment, read.settled]);
    }
  }

  async #tellUnblock({ address, id }: NodeConnection): Promise<void> {
    try {
      const aside = await this.#asides.to(address);
      // While writes are paused (CLIENT PAUSE, a planned failover), Redis (7.0.15, say) ends with a panic when a read that is
      // paused is unblocked. A script is paused as well, and what comes behind it on the same connection.
      aside.send(['EVAL', 'return 0', '0']).catch(() => {});
      await aside.send(['CLIENT', 'UNBLOCK', id, 'TIMEOUT']);
    } catch (error) {
      // Anything else is a matter of the connection: the read that is to return notices in its turn.
      if (error instanceof ReplyError && verdictOn(error, address).kind === 'failed') throw error;
    }
  }

  /** Before the next attempt of a call that Redis would not take yet. */
  #pause(call: Call): Promise<void> {
    call.attempts += 1;
    return new Promise((resolve) => {
      const end = () => {
        this.#clock.clearTimer(timer);
        this.#pauses.delete(end);
        resolve();
      };
      const timer = this.#clock.setTimer(end, backOffMs(call.attempts));
      this.#pauses.add(end);
    });
  }

  #onUp(): void {
    if (this.#told === 'up' || !this.#routes.isUp) return;
    this.#told = 'up';
    this.#failure = undefined;
    this.#report?.recovered();
    for (const listener of this.#upListeners) listener();
  }

  #onDown(error: Error): void {
    if (this.#told === 'down') return;
    this.#told = 'down';
    this.#failure ??= error;
    for (const listener of this.#downListeners) listener(error);
  }

  #onFailure(error: Error): void {
    this.#failure = error;
    this.#report?.failed(error);
  }
}

async function untilAborted<T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const started = start(); // first: somebody waits for it
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([started, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
