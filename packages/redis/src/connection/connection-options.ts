import type { TlsOptions } from './tls-options.js';

/**
 * Address and login of Redis. Precedence: these options, the URL, the environment (REDIS__URL, or REDIS__HOST,
 * REDIS__PORT and REDIS__DB; REDIS__USERNAME, REDIS__PASSWORD).
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
   * Timeout of a reply and of a connection attempt, in ms. A connection without a reply for longer is replaced.
   * @default 5,000
   */
  readonly replyTimeoutMs?: number | undefined;
}
