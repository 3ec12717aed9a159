import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import type { Connection } from './connection.js';
import type { GrpcError } from './grpc-error.js';
import { unsendable } from './unsendable.js';
import type { Waiting } from './waiting.js';

/** A raw stream that somebody wants: nothing is read from it or written to it here. */
export class WaitingStream implements Waiting {
  isOver = false;
  readonly #headers: OutgoingHttpHeaders;
  readonly #callback: (error: GrpcError | undefined, stream?: ClientHttp2Stream) => void;

  constructor(
    headers: OutgoingHttpHeaders,
    callback: (error: GrpcError | undefined, stream?: ClientHttp2Stream) => void,
  ) {
    this.#headers = headers;
    this.#callback = callback;
  }

  begin(connection: Connection): void {
    let stream: ClientHttp2Stream;
    try {
      stream = connection.request(this.#headers);
    } catch (error) {
      this.#callback(unsendable(error));
      return;
    }
    stream.once('response', () => connection.heard());
    this.#callback(undefined, stream);
  }

  refuse(error: GrpcError): void {
    this.#callback(error);
  }
}
