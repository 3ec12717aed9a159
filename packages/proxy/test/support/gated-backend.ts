/** A backend in this process that answers a batch when the test releases it. Streams of other methods stay open. */
import { createServer, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { unframed } from './framing.js';

export interface GatedBatch {
  readonly path: string;
  readonly texts: readonly string[];
  /** Echoes every message. */
  release(): void;
}

const HEAD = { ':status': 200, 'content-type': 'application/grpc' };

export class GatedBackend {
  readonly target: string;
  /** The open streams of methods that are not batched. */
  silent = 0;
  /** Bytes received on these streams. */
  silentBytes = 0;
  healthChecks = 0;
  readonly #batches: GatedBatch[] = [];
  #wake: (() => void) | undefined = undefined;

  constructor(target: string) {
    this.target = target;
  }

  /** The next complete batch. */
  async next(): Promise<GatedBatch> {
    for (;;) {
      const batch = this.#batches.shift();
      if (batch !== undefined) return batch;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  accept(stream: ServerHttp2Stream, path: string): void {
    stream.on('error', () => {});
    if (path.startsWith('/grpc.health')) {
      this.healthChecks += 1;
      stream.resume();
      stream.respond({ ...HEAD, 'grpc-status': '12' }, { endStream: true });
    } else if (path.includes('/Batched')) this.#receive(stream, path);
    else {
      this.silent += 1;
      stream.on('close', () => {
        this.silent -= 1;
      });
      stream.on('data', ({ length }: Buffer) => {
        this.silentBytes += length;
      });
      stream.respond(HEAD);
    }
  }

  #receive(stream: ServerHttp2Stream, path: string): void {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (stream.aborted || stream.destroyed) return;
      const body = Buffer.concat(chunks);
      const texts = unframed(body).map((message) => message.toString('latin1', 0, 16).trim());
      const release = () => {
        if (stream.destroyed) return;
        stream.respond(HEAD, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(body);
      };
      this.#batches.push({ path, texts, release });
      this.#wake?.();
    });
  }
}

/** Closed after the current test. */
export async function gatedBackend(maxConcurrentStreams = 100): Promise<GatedBackend> {
  const server = createServer({ settings: { maxConcurrentStreams } });
  const sessions = new Set<Http2Session>();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const backend = new GatedBackend(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => backend.accept(stream, String(headers[':path'])));
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return backend;
}
