/**
 * Gathers the messages of a call in the place of grpc-js, which keeps every DATA frame as an object until the message
 * is complete: 4 MiB in frames of one byte took 1 GB and blocked the event loop for 400 ms.
 */
import { constants } from 'node:http2';
import { FrameReader, GrpcError } from '@batchwise/grpc';
import { status } from '@grpc/grpc-js';

/**
 * What is replaced. All but `sendStatus` are private to grpc-js: a version without them reads messages in its own
 * way, and the tests of this file fail.
 */
export interface ReceivingCall {
  sendStatus(answer: CallStatus): void;
  readonly stream?: { close(code: number): void; on(event: 'data', listener: (chunk: Buffer) => void): void };
  decoder?: { write(chunk: Buffer): Buffer[] };
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

/**
 * Each DATA frame costs about a microsecond, however small it is, and 2 MiB of them are read in one turn of the event
 * loop. A message may come in so many frames of any size, and in more where they are not smaller than this on average.
 */
const SMALL_PIECES = 256;
const SMALL_PIECE_BYTES = 64;
const TOO_SMALL = `expected DATA frames of ${SMALL_PIECE_BYTES} bytes or more on average, got smaller ones.`;
/** The second one shows that there is more than one. */
const MOST_UNARY_MESSAGES = 2;

export function limitReceiving(call: ReceivingCall, { messageBytes, isUnary }: ReceivingLimits): void {
  if (call.decoder === undefined) return;
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
    call.sendStatus({ code: status.RESOURCE_EXHAUSTED, details: TOO_SMALL });
    call.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  call.decoder = {
    write(chunk) {
      frames = [];
      try {
        reader.push(chunk);
      } catch (error) {
        const code = error instanceof GrpcError ? (error.status as status) : status.INTERNAL;
        const hint = code === status.RESOURCE_EXHAUSTED ? ' (server.limits.body_bytes)' : '';
        call.sendStatus({ code, details: `${(error as Error).message}${hint}` });
        return [];
      }
      // A frame within a chunk is a view of all the bytes that were read from the socket at a time.
      return frames.map((frame) => (frame.buffer === chunk.buffer ? Buffer.from(frame) : frame));
    },
  };
}
