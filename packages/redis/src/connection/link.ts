/**
 * One way to Redis for one kind of traffic. Whoever blocks on a read has a link of its own; everything else of a
 * process may share one: nothing waits for the reply to what was sent before it, and all is written at once.
 */
import type { Clock } from 'batchwise';
import type { ConnectionOptions } from './connection-options.js';
import { OutageReport } from './outage-report.js';
import { RoutedLink } from './routed-link.js';
import { nodeOptionsFor, routesFor } from './routes-for.js';
import type { Script } from './script.js';
import { placeOf, targetOf } from './target.js';

export { LinkClosedError, LinkLostError, lossText, ReplyError } from './link-errors.js';

export type Argument = string | Buffer;
/** Plain values; maps come as flat lists. */
export type Reply = string | Buffer | number | null | readonly Reply[];

export interface RedisLink {
  /**
   * One command; `key` decides the node in a cluster. Waits while Redis is away, or not ready to take it, or another
   * node is the one that takes it. Rejects with
   * - LinkLostError when the connection broke on the way: it may or may not have been carried out;
   * - ReplyError when Redis answers with an error;
   * - LinkClosedError after `close()` or `destroy()`;
   * - BatchwiseError UNAVAILABLE when Redis refuses this client (wrong password …) and never took it before.
   */
  send(key: string, command: readonly Argument[]): Promise<Reply>;

  /**
   * A script, which must be safe to be carried out twice: after a lost connection it is sent again, until it is
   * answered, or the link is destroyed, or the signal fires (then it rejects with the signal's reason, and may have been carried out).
   */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<Reply>;

  /** Connected and ready. */
  readonly isUp: boolean;

  /** Why it is not up: what the last attempt to connect ended with, or how the connection was lost. */
  readonly failure: Error | undefined;

  /** Called when the connection is lost, or cannot be made at first: once, until it is up again. */
  onDown(listener: (error: Error) => void): void;

  /** Called each time that the connection is ready: the first time too. */
  onUp(listener: () => void): void;

  /**
   * Makes the XREAD or XREADGROUP … BLOCK that waits on this link return `null`, as if its time had passed. Nothing
   * happens when none waits. Resolves when it has returned. Goes by CLIENT UNBLOCK over a connection of its own.
   */
  unblock(key: string): Promise<void>;

  /** Takes nothing more; resolves when all that is under way has its reply, which waits for Redis if that is away. */
  close(): Promise<void>;

  /** Now: what is under way rejects with LinkClosedError. */
  destroy(): void;
}

export interface LinkOptions extends ConnectionOptions {
  /** Bulk strings as strings or as Buffers. */
  readonly replies: 'text' | 'bytes';
  /** What CLIENT LIST shows for it. */
  readonly name: string;
  /** A key of the queue that it is for: in a cluster, its node is connected to at once, not with the first command. */
  readonly key?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Whether outages are reported elsewhere than on stderr. @default they are */
  readonly isQuiet?: (() => boolean) | undefined;
}

/** Starts to connect at once. Throws INVALID_OPTION when the options cannot be meant. */
export function openLink(options: LinkOptions): RedisLink {
  const target = targetOf(options);
  const node = nodeOptionsFor(target, options);
  const report = options.isQuiet && new OutageReport(placeOf(target), options.isQuiet);
  const link = new RoutedLink((events) => routesFor(target, node, events), node, report);
  if (options.key !== undefined) link.connectFor(options.key);
  return link;
}
