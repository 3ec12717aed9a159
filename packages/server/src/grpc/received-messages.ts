/**
 * Gathers and decompresses the messages of a call in the place of grpc-js. grpc-js keeps every DATA frame as an object
 * until the message is complete: 4 MiB in frames of one byte took 1 GB and blocked the event loop for 400 ms. And it
 * decompresses all messages at a time, each up to the limit, however small it was.
 */
import { constants } from 'node:http2';
import { gunzip, inflate } from 'node:zlib';
import { FrameReader, GrpcError, isCompressed, messageOf } from '@batchwise/grpc';
import { status } from '@grpc/grpc-js';
import type { InflateQueue } from '../http/inflate-queue.js';

/**
 * What is replaced. All but `sendStatus` are private to grpc-js: a version without them reads messages in its own
 * way, and the tests of this file fail.
 */
export interface ReceivingCall {
  sendStatus(answer: CallStatus): void;
  readonly cancelled?: boolean;
  readonly stream?: { close(code: number): void; on(event: 'data', listener: (chunk: Buffer) => void): void };
  decoder?: { write(chunk: Buffer): Buffer[] };
  decompressMessage?: (frame: Buffer, encoding: string) => Buffer | Promise<Buffer>;
}

interface CallStatus {
  readonly code: status;
  readonly details: string;
}

export interface ReceivingLimits {
  readonly messageBytes: number;
  /** Of a unary call: a second message ends it, and further ones are not looked at. */
  readonly isUnary: boolean;
}

const INFLATERS: Readonly<Record<string, typeof gunzip>> = { gzip: gunzip, deflate: inflate };
/** Tensors of zeros or ones are compressed a thousandfold; a message beyond this size is expected to hold other data. */
const ANY_RATIO_BYTES = 1024 * 1024;
const MOST_TIMES_COMPRESSED = 100;
/**
 * Each DATA frame costs about a microsecond, however small it is, and 2 MiB of them are read in one turn of the event
 * loop. A message may come in so many frames of any size, and in more where they are not smaller than this on average.
 */
const SMALL_PIECES = 256;
const SMALL_PIECE_BYTES = 64;
const TOO_SMALL = `expected DATA frames of ${SMALL_PIECE_BYTES} bytes or more on average, got smaller ones.`;
/** The second one shows that there is more than one. */
const MOST_UNARY_MESSAGES = 2;

export function limitReceiving(
  call: ReceivingCall,
  { messageBytes, isUnary }: ReceivingLimits,
  inflating: InflateQueue,
): void {
  if (call.decoder === undefined || call.decompressMessage === undefined) return;
  let frames: Buffer[] = [];
  let messages = 0;
  let pieces = 0;
  let pieceBytes = 0;
  const reader = new FrameReader(messageBytes, (frame) => {
    messages += 1;
    pieces = 0;
    pieceBytes = 0;
    if (!isUnary || messages <= MOST_UNARY_MESSAGES) frames.push(frame);
  });
  // Before and after the call has a status: a frame of a stream that is reset costs next to nothing.
  call.stream?.on('data', (chunk) => {
    pieces += 1;
    pieceBytes += chunk.length;
    if (pieces <= SMALL_PIECES || pieceBytes >= pieces * SMALL_PIECE_BYTES) return;
    call.sendStatus(refusal(status.RESOURCE_EXHAUSTED, TOO_SMALL));
    call.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  call.decoder = {
    write(chunk) {
      frames = [];
      try {
        reader.push(chunk);
      } catch (error) {
        const code = error instanceof GrpcError ? (error.status as status) : status.INTERNAL;
        call.sendStatus({ code, details: (error as Error).message });
        return [];
      }
      // A frame within a chunk is a view of all the bytes that were read from the socket at a time.
      return frames.map((frame) => (frame.buffer === chunk.buffer ? Buffer.from(frame) : frame));
    },
  };
  call.decompressMessage = (frame, encoding) => {
    const message = messageOf(frame);
    if (!isCompressed(frame) || encoding === 'identity') return message;
    const inflater = INFLATERS[encoding];
    if (inflater === undefined)
      return Promise.reject(refusal(status.UNIMPLEMENTED, `expected gzip or deflate, got ${encoding}.`));
    const fromRatio = Math.max(ANY_RATIO_BYTES, MOST_TIMES_COMPRESSED * message.length);
    const most = Math.min(messageBytes, fromRatio);
    return new Promise((resolve, reject) => {
      inflating.add({
        isWanted: () => call.cancelled !== true,
        start: (ended) =>
          inflater(message, { maxOutputLength: most }, (error, inflated) => {
            ended();
            if (error === null) resolve(inflated);
            else reject(inflateRefusal(error, message.length, most));
          }),
      });
    });
  };
}

function inflateRefusal(error: NodeJS.ErrnoException, compressedBytes: number, most: number): CallStatus {
  if (error.code !== 'ERR_BUFFER_TOO_LARGE')
    return refusal(status.INTERNAL, `The message cannot be decompressed: ${error.message}.`);
  return refusal(
    status.RESOURCE_EXHAUSTED,
    `message: expected at most ${most} bytes decompressed from ${compressedBytes}, got more.`,
  );
}

function refusal(code: status, details: string): CallStatus {
  return { code, details };
}
