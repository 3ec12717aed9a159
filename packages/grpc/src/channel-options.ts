import type { Clock } from 'batchwise';
import type { BackoffOptions } from './backoff.js';

/** PEM texts. `cert` and `key` are presented to a server that requests them (mutual TLS). */
export interface ClientTls {
  /**
   * Trusted certificate authorities of the server.
   * @default those of the system
   */
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** The name that the certificate must bear, where it is not the target's. */
  readonly serverName?: string | undefined;
}

export interface ChannelOptions {
  /** `host:port`, `[::1]:50051` or `unix:/path`. */
  readonly target: string;
  /** `true`: with the system's authorities. Without it, HTTP/2 in clear text (h2c). */
  readonly tls?: ClientTls | true | undefined;
  /** How many are opened at most; a further one when the peer's concurrent streams are all in use. @default 1 */
  readonly connections?: number | undefined;
  /**
   * A peer that stays silent during calls is pinged at this interval, after a first ping when it falls silent
   * (10 s). Many servers count pings within five minutes as abuse. @default 310,000
   */
  readonly keepaliveMs?: number | undefined;
  /**
   * A connection without a reply to a ping for this time is closed.
   * @default 20,000
   */
  readonly keepaliveTimeoutMs?: number | undefined;
  /** Until TCP, TLS and the peer's HTTP/2 settings are there. @default 5,000 */
  readonly connectTimeoutMs?: number | undefined;
  /** What is sent as `:authority`. @default the target */
  readonly authority?: string | undefined;
  readonly backoff?: BackoffOptions | undefined;
  readonly clock?: Clock | undefined;
}

export type ChannelState = 'idle' | 'connecting' | 'ready' | 'failing' | 'closed';
