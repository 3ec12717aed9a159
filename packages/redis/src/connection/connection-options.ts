import type { TlsOptions } from './tls-options.js';

/**
 * Where Redis is and how to log in. What is said here goes before what stands in the URL; both go before the environment
 * (REDIS__URL, or REDIS__HOST, REDIS__PORT and REDIS__DB; REDIS__USERNAME, REDIS__PASSWORD).
 */
export interface ConnectionOptions {
  /**
   * - `redis://[user[:password]@]host[:port][/database]`
   * - `redis+cluster://[user[:password]@]host[:port][,host[:port]…]`: some of the nodes; they know the others
   * - `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/master[/database]`: the sentinels;
   *   `?sentinelUsername=…&sentinelPassword=…` where they want a login of their own
   *
   * With TLS: `rediss://`, `rediss+cluster://`, `rediss+sentinel://`. Characters such as `@ : / ?` in a name or
   * password are percent-encoded.
   * @default 'redis://localhost:6379'
   */
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** @default 0 */
  readonly database?: number | undefined;
  /** For `rediss:` URLs. */
  readonly tls?: TlsOptions | undefined;
  /**
   * How long Redis may take to reply, and to accept a connection, in ms. A connection that is silent for longer counts as
   * dead, and another one is opened.
   * @default 5,000
   */
  readonly replyTimeoutMs?: number | undefined;
}
