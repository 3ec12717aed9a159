import type { OutgoingHttpHeaders } from 'node:http2';
import type { Connection } from './connection.js';
import type { GrpcError } from './grpc-error.js';
import { RawStream } from './raw-stream.js';
import { unsendable } from './unsendable.js';
import type { Waiting } from './waiting.js';

/** A raw stream that somebody wants: nothing is read from it or written to it here. */
export class WaitingStream implements Waiting {
  isOver = false;
  readonly #headers: OutgoingHttpHeaders;
  readonly #callback: (error: GrpcError | undefined, stream?: RawStream) => void;

  constructor(
    headers: OutgoingHttpHeaders,
    callback: (error: GrpcError | undefined, stream?: RawStream) => void,
  ) {
    this.#headers = headers;
    this.#callback = callback;
  }

  begin(connection: Connection): void {
    let stream: RawStream;
    try {
      stream = new RawStream(connection, this.#headers);
    } catch (error) {
      this.#callback(unsendable(error));
      return;
    }
    this.#callback(undefined, stream);
  }

  refuse(error: GrpcError): void {
    this.#callback(error);
  }
}
