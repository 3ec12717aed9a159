/**
 * Counts the bytes of calls while they come, and of answers until they are taken, in the server's budget. grpc-js has no
 * place for that: a message is buffered and decompressed before any interceptor sees it. So some methods of its
 * calls are replaced, those of one exact version, as `open-calls.ts` does it.
 *
 * Messages are decompressed here for the same reason: a few at a time, and up to a hundred times their size.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { type ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js';
import { type ByteBudget, type ByteShare, noRoom } from '../byte-budget.js';
import { InflateQueue } from '../http/inflate-queue.js';
import { type Inflate, inflateBody, inflaterOf } from '../http/request-body.js';
import type { RequestError } from '../request-error.js';
import { grpcStatus } from './grpc-status.js';

/** What is not public of a call. */
interface InnerCall {
  readonly stream: ServerHttp2Stream;
  handleDataFrame(data: Buffer): void;
  /** `message` as it came, with its five bytes of length. */
  decompressMessage(message: Buffer, encoding: string): Buffer | Promise<Buffer>;
}

const PREFIX_BYTES = 5;
/** Up to this size the ratio does not matter: tensors of zeros and masks of ones are compressed a thousandfold. */
const ANY_RATIO_BYTES = 1024 * 1024;

export class CallBytes {
  readonly #budget: ByteBudget;
  readonly #messageBytes: number;
  /** By connection. */
  readonly #shares = new WeakMap<object, ByteShare>();
  readonly #inflating = new InflateQueue();

  constructor(budget: ByteBudget, messageBytes: number) {
    this.#budget = budget;
    this.#messageBytes = messageBytes;
  }

  readonly intercept: ServerInterceptor = (_definition, call) => {
    const inner = call as unknown as InnerCall;
    const share = this.#shareOf(inner.stream);
    let held = 0;
    let isRefused = false;
    const hold = (bytes: number): boolean => {
      if (!share.take(bytes)) return false;
      held += bytes;
      return true;
    };
    const release = (): void => {
      share.add(-held);
      held = 0;
    };
    inner.stream.once('close', release);

    const handleDataFrame = inner.handleDataFrame.bind(inner);
    inner.handleDataFrame = (data) => {
      if (isRefused) return;
      if (hold(data.length)) return handleDataFrame(data);
      // At once: of calls that come side by side on a connection, the others are to have the room.
      isRefused = true;
      release();
      call.sendStatus(grpcStatus(noRoom(this.#budget)));
    };
    const sendStatus = call.sendStatus.bind(call);
    call.sendStatus = (answer) => {
      const isComing = !inner.stream.headersSent && !inner.stream.readableEnded;
      sendStatus(answer);
      // RFC 9113, 8.1: the client may keep its stream open, and with it what is held for it. Not in this turn: Node 22.23
      // would reset the stream without the status.
      if (isComing) setImmediate(() => inner.stream.close(constants.NGHTTP2_NO_ERROR));
    };
    inner.decompressMessage = (message, encoding) => {
      if (encoding === 'identity') return message.subarray(PREFIX_BYTES);
      return this.#decompressed(message.subarray(PREFIX_BYTES), encoding, inner.stream, hold);
    };
    const sendMessage = call.sendMessage.bind(call);
    call.sendMessage = (message: unknown, callback) => {
      if (Buffer.isBuffer(message) && !inner.stream.destroyed) {
        if (!share.takeAnswer(message.length, held)) {
          call.sendStatus(grpcStatus(noRoom(this.#budget)));
          return;
        }
        held += message.length;
      }
      sendMessage(message, callback);
    };
    return call as unknown as ServerInterceptingCall;
  };

  #shareOf({ session }: ServerHttp2Stream): ByteShare {
    // A call of a connection that is gone already: its stream closes in a moment.
    if (session === undefined) return this.#budget.share();
    const known = this.#shares.get(session);
    if (known !== undefined) return known;
    const share = this.#budget.share();
    this.#shares.set(session, share);
    return share;
  }

  /** What it rejects with is the status of the call. */
  #decompressed(
    bytes: Buffer,
    encoding: string,
    stream: ServerHttp2Stream,
    hold: (bytes: number) => boolean,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const fail = (error: RequestError) => reject(grpcStatus(error));
      if (encoding !== 'gzip' && encoding !== 'deflate') {
        const details = `Received message compressed with unsupported encoding "${encoding}"`;
        reject({ code: status.UNIMPLEMENTED, details });
        return;
      }
      this.#inflating.add({
        isWanted: () => !stream.destroyed,
        start: (ended) =>
          inflateBody(
            inflaterOf(encoding) as Inflate,
            bytes,
            this.#messageBytes,
            (error, inflated) => {
              ended();
              // What is held for a call is given back once, when its stream closes.
              if (stream.destroyed) return;
              if (error !== undefined) fail(error);
              else if (hold(inflated.length)) resolve(inflated);
              else fail(noRoom(this.#budget));
            },
            ANY_RATIO_BYTES,
          ),
      });
    });
  }
}
