/** Controls programs/grpc-backend.mjs: a backend of @grpc/grpc-js in a separate process. */
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Child, startChild } from '../../../redis/test/support/child.js';

export interface GrpcBackendOptions {
  readonly port?: number;
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** The server options of @grpc/grpc-js. */
  readonly options?: Readonly<Record<string, string | number>>;
}

export interface SeenBatch {
  readonly type: 'batch';
  readonly size: number;
  readonly metadata: Readonly<Record<string, readonly string[]>>;
  /** Unix time in ms; null if there is none. */
  readonly deadline: number | null;
}

const program = fileURLToPath(new URL('programs/grpc-backend.mjs', import.meta.url));
const proto = fileURLToPath(new URL('programs/echo.proto', import.meta.url));

/** Ended after the current test. */
export async function grpcBackend(options: GrpcBackendOptions = {}): Promise<GrpcBackend> {
  const child = startChild(program, { args: [JSON.stringify({ ...options, proto })] });
  onTestFinished(() => child[Symbol.asyncDispose]());
  const { port } = await child.until<{ type: string; port: number }>(({ type }) => type === 'listening');
  return new GrpcBackend(child, port);
}

export class GrpcBackend {
  readonly port: number;
  readonly #child: Child;

  constructor(child: Child, port: number) {
    this.#child = child;
    this.port = port;
  }

  get target(): string {
    return `127.0.0.1:${this.port}`;
  }

  get batches(): readonly SeenBatch[] {
    return this.#child.messages.filter((one): one is SeenBatch => (one as SeenBatch).type === 'batch');
  }

  /** The first past or future event of this kind. */
  until<T extends { readonly type: string }>(type: T['type']): Promise<T> {
    return this.#child.until<T>((one) => one.type === type);
  }

  countOf(type: string): number {
    return this.#child.messages.filter((one) => (one as SeenBatch).type === type).length;
  }

  kill(signal?: NodeJS.Signals): Promise<unknown> {
    return this.#child.kill(signal);
  }
}
