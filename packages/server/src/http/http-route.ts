/** What the parts of the server that answer requests see of HTTP. */
import type { IncomingHttpHeaders } from 'node:http';

/** A request that has come in whole, and the one chance to answer it. */
export interface HttpCall {
  /** The client's `x-request-id` if it is fit to be repeated, or one of our own. */
  readonly id: string;
  readonly method: string;
  /** As it came, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The decoded parts of the path that the route's `{name}`s stand for. */
  readonly params: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
  /** The client's end of the connection, as `address:port`. */
  readonly peer: string;
  /** Decompressed, within the limit; empty when there is none. */
  readonly body: Buffer;
  /** Answered, or its client gone. */
  readonly isSettled: boolean;
  /** The first answer counts; those that follow are ignored. */
  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void;
  /** The answer that belongs to an error, as problem+json. */
  fail(error: unknown): void;
  /** Called once when the client hangs up before the handler answered, or the server gives up on it; never after its answer. */
  onGone(listener: () => void): void;
}

export interface HttpRoute {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/v2/models/{model}/infer`: a part in braces stands for anything but a slash. */
  readonly path: string;
  /** Requests to it are refused while the server drains; health and metrics are not. On unless false. */
  readonly isWork?: boolean;
  /** What metrics call it; few. The path unless given. */
  readonly label?: string;
  /** What throws here is answered as `fail` would. */
  handle(call: HttpCall): void | Promise<void>;
}
