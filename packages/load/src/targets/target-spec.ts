/** What a target is made of, as plain data: it comes from flags or a scenario file, and travels to other processes. */

export interface TargetSpec {
  /**
   * `http://` and `https://` (path and query included), `grpc://host:port/package.Service/Method` and `grpcs://`,
   * `redis://host:port/queue` and `rediss://`.
   */
  readonly url: string;
  /** How a request over HTTP is encoded. @default 'http' */
  readonly protocol?: 'http' | 'open-inference' | 'open-inference-binary';
  /** Of HTTP. @default POST with data, GET without */
  readonly method?: string;
  /** Headers of HTTP, metadata of gRPC. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent one after the other, beginning again after the last. Without any: an empty request. */
  readonly data?: readonly Sample[];
  /** The `.proto` file of a gRPC target with JSON data. Without it, the reflection service of the server is used. */
  readonly proto?: string;
  /** Give up on a response after this time, and count a failure. @default no limit */
  readonly timeoutMs?: number;
  readonly tls?: { readonly ca?: string; readonly insecure?: boolean };
  readonly success?: SuccessRule;
}

/** One request's data: JSON, or bytes in base64. */
export type Sample = { readonly json: unknown } | { readonly base64: string };

/** When a response is a success. */
export interface SuccessRule {
  /** HTTP: `2xx`, `200`, `200-299`; any that matches. @default ['2xx'] */
  readonly status?: readonly string[];
  /** A text that the body contains, or a regular expression between slashes. */
  readonly body?: string;
  /** A member of the JSON body, such as `outputs.0.name`, and its required JSON value (default: any value). */
  readonly json?: { readonly path: string; readonly value?: unknown };
}
