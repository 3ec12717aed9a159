/**
 * A batched method of gRPC: one stream a batch, one message an item, the answers in the same order. All messages
 * are written, the stream is half-closed, and each answer goes to its caller as it comes.
 */
import {
  frameOf,
  type GrpcError,
  ITEM_ERROR_HEADER,
  isCompressed,
  messageOf,
  parseItemErrors,
  STATUS,
} from '@batchwise/grpc';
import { BatchwiseError } from 'batchwise';
import { shownValue } from '../open-inference/shown-value.js';
import type { FunctionPeer, PeerBatch } from './function-peer.js';
import { callOptions, GrpcCaller, type GrpcCallerOptions } from './grpc-caller.js';
import { grpcFailure } from './grpc-failure.js';
import { answered, cancelled, failed, type Outcome } from './outcome.js';

export interface StreamPeerOptions extends GrpcCallerOptions {
  /** `/pkg.Service/BatchedCompute` */
  readonly path: string;
}

export class StreamPeer implements FunctionPeer {
  readonly url: string;
  readonly #caller: GrpcCaller;
  readonly #path: string;

  constructor(options: StreamPeerOptions) {
    this.url = options.url;
    this.#path = options.path;
    this.#caller = new GrpcCaller(options);
  }

  /** That there is a connection: the method itself cannot be asked. */
  checkReady(timeoutMs: number): Promise<void> {
    return this.#caller.connected(timeoutMs);
  }

  run({ items, context, timeoutMs }: PeerBatch): Promise<Outcome<undefined>> {
    const { signal } = context;
    if (signal.aborted) return Promise.resolve(cancelled(this.url));
    const positions = sendable(items, context);
    if (positions.length === 0) return Promise.resolve(answered(undefined));
    return new Promise((resolve) => {
      let errors: ReadonlyMap<number, GrpcError> = new Map();
      let answers = 0;
      const onAbort = () => call.cancel();
      const call = this.#caller.channel.call(this.#path, callOptions(timeoutMs), {
        onHeaders: (headers) => {
          errors = parseItemErrors(headers[ITEM_ERROR_HEADER], positions.length);
        },
        onFrame: (frame) => {
          const position = positions[answers];
          const error = errors.get(answers);
          answers += 1;
          if (position === undefined) return; // more answers than items
          if (error !== undefined) context.answer(position, this.#itemError(error));
          else if (isCompressed(frame)) context.answer(position, this.#compressed());
          else context.answer(position, messageOf(frame));
        },
        onEnd: (end) => {
          signal.removeEventListener('abort', onAbort);
          if (signal.aborted) resolve(cancelled(this.url));
          else if (end.status !== STATUS.OK)
            resolve({ ...grpcFailure(this.url, end), ...unseenIf(answers, end) });
          else if (answers < positions.length) resolve(failed(this.#tooFew(answers, positions.length)));
          else resolve(answered(undefined));
        },
      });
      signal.addEventListener('abort', onAbort, { once: true });
      for (const position of positions) call.write(frameOf(items[position] as Uint8Array));
      call.end();
    });
  }

  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.#caller.onConnectionChange(listener);
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  #itemError({ status, message }: GrpcError): Error {
    const end = { status, message, trailers: { 'grpc-status': String(status) }, isUnseen: false };
    return grpcFailure(this.url, end).error;
  }

  #compressed(): BatchwiseError {
    const message = `${this.url}: expected an answer that is not compressed, as it was asked for.`;
    return new BatchwiseError('BAD_RESULT', message);
  }

  #tooFew(answers: number, items: number): BatchwiseError {
    const message = `${this.url}: the stream ended with ${answers} answers for ${items} items.`;
    return new BatchwiseError('BAD_RESULT', message);
  }
}

function unseenIf(answers: number, { isUnseen }: { readonly isUnseen: boolean }): { isUnseen: boolean } {
  return { isUnseen: isUnseen && answers === 0 };
}

/** The positions of those that are bytes; the others get their error now. */
function sendable(items: readonly unknown[], context: PeerBatch['context']): number[] {
  const positions: number[] = [];
  for (const [index, item] of items.entries()) {
    if (item instanceof Uint8Array) positions.push(index);
    else {
      const message = `expected the bytes of a message, a Uint8Array, got ${shownValue(item)}.`;
      context.answer(index, new BatchwiseError('INVALID_ITEM', message));
    }
  }
  return positions;
}
