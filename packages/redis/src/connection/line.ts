/**
 * A connection that comes back: keeps one open to whichever node `locate` says, asks again and opens the next when it
 * breaks or when the node turns out to be the wrong one, for ever, with back-off.
 */
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { backOffMs } from './back-off.js';
import { LinkClosedError, ReplyError } from './link-errors.js';
import {
  type Address,
  addressText,
  isNotYet,
  NodeConnection,
  type NodeOptions,
  reasonText,
} from './node-connection.js';

/** Where the node is that takes the writes; asked before each attempt. */
export type Locate = (signal: AbortSignal) => Promise<Address>;

export interface LineEvents {
  onUp(): void;
  /** Once for each time that it is down, with the first reason. */
  onDown(error: Error): void;
  /** Each time that an attempt to connect has failed. */
  onFailure(error: Error): void;
}

interface Waiter {
  resolve(connection: NodeConnection): void;
  reject(error: Error): void;
}

export class Line {
  readonly #locate: Locate;
  readonly #node: NodeOptions;
  readonly #events: LineEvents;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  #connection: NodeConnection | undefined;
  /** Those that were left, and may have something under way. */
  #retired: NodeConnection[] = [];
  #waiters: Waiter[] = [];
  #attempt = 0;
  #wasUp = false;
  #isDownTold = false;
  #timer: unknown;

  constructor(locate: Locate, node: NodeOptions, events: LineEvents) {
    this.#locate = locate;
    this.#node = node;
    this.#events = events;
    this.#clock = node.clock ?? realClock;
    void this.#connect();
  }

  /** While it is up. */
  get connection(): NodeConnection | undefined {
    return this.#connection;
  }

  /**
   * The connection, when there is one. Rejects when Redis says no (a wrong password, an unknown certificate) before it
   * ever said yes: what was never right will hardly become so by waiting. Later on it waits.
   */
  whenUp(): Promise<NodeConnection> {
    if (this.#connection !== undefined) return Promise.resolve(this.#connection);
    if (this.#end.signal.aborted) return Promise.reject(new LinkClosedError());
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** This connection goes to the wrong node: what is under way there is finished, all else waits for the next one. */
  leave(connection: NodeConnection, reason: Error, { isNextKnown = false } = {}): void {
    if (this.#connection !== connection) return;
    connection.retire();
    this.#retired = [...this.#retired.filter(({ isOpen }) => isOpen), connection];
    this.#down(connection, reason);
    // At once, but not over and over: two nodes may disagree about which of them it is.
    if (isNextKnown && this.#attempt === 0) {
      this.#attempt = 1;
      void this.#connect();
    } else {
      this.#connectLater();
    }
  }

  destroy(): void {
    this.#end.abort();
    this.#clock.clearTimer(this.#timer);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.destroy();
    for (const retired of this.#retired) retired.destroy();
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new LinkClosedError());
  }

  async #connect(): Promise<void> {
    const connection = await this.#open();
    if (this.#end.signal.aborted) connection?.destroy();
    else if (connection === undefined) this.#connectLater();
    else this.#use(connection);
  }

  async #open(): Promise<NodeConnection | undefined> {
    let address: Address | undefined;
    try {
      address = await this.#locate(this.#end.signal);
      const connection = await NodeConnection.open(address, this.#node, this.#end.signal);
      if (connection.role !== 'replica') return connection;
      connection.destroy();
      throw new ReplyError('READONLY the node is a replica');
    } catch (error) {
      if (!this.#end.signal.aborted) this.#failed(error as Error, address);
      return undefined;
    }
  }

  #use(connection: NodeConnection): void {
    this.#connection = connection;
    this.#wasUp = true;
    connection.onLost((error) => {
      if (this.#connection !== connection) return;
      this.#down(connection, error);
      this.#connectLater();
    });
    this.#isDownTold = false;
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(connection);
    this.#events.onUp();
  }

  #down(connection: NodeConnection, reason: Error): void {
    this.#connection = undefined;
    // It was a good one: the back-off is for those that break, or refuse, each time before they were of any use.
    if (connection.hasServed) this.#attempt = 0;
    this.#tellDown(reason);
  }

  #failed(error: Error, address: Address | undefined): void {
    const where = address === undefined ? '' : ` at ${addressText(address)}`;
    if (this.#wasUp || !isRefusal(error)) {
      const message = `Cannot connect to Redis${where}: ${reasonText(error)}`;
      const unreachable = new Error(message, { cause: error });
      this.#events.onFailure(unreachable);
      this.#tellDown(unreachable);
      return;
    }
    const refusal = new BatchwiseError(
      'UNAVAILABLE',
      `Redis${where} refused the connection (user, password, database, certificate?): ${error.message}`,
      { cause: error },
    );
    this.#events.onFailure(refusal);
    this.#tellDown(refusal);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(refusal);
  }

  #tellDown(reason: Error): void {
    if (this.#isDownTold) return;
    this.#isDownTold = true;
    this.#events.onDown(reason);
  }

  #connectLater(): void {
    if (this.#end.signal.aborted) return;
    this.#attempt += 1;
    this.#timer = this.#clock.setTimer(() => void this.#connect(), backOffMs(this.#attempt));
  }
}

/** Redis was there and said no. */
function isRefusal(error: Error): boolean {
  if (error instanceof BatchwiseError) return true;
  // One that was asked for the way said it.
  if (error.cause instanceof Error) return isRefusal(error.cause);
  if (error instanceof ReplyError) return !isNotYet(error);
  const { code = '' } = error as NodeJS.ErrnoException;
  return /^ERR_(TLS|SSL)|CERT|^EPROTO$|VERIFY/.test(code);
}
