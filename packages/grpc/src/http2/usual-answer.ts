/**
 * The answer that nearly all calls get: `:status` 200, `content-type` application/grpc, one message, `grpc-status` 0. Its
 * headers and trailers are the same bytes each time, and use nothing of the connection's table, so that all of it is put
 * together with a few copies.
 */
import { FLAG, FRAME_HEAD_BYTES, FRAME_TYPE } from './frame-type.js';

export const OK_FIELDS: readonly string[] = [':status', '200', 'content-type', 'application/grpc'];
export const OK_TRAILERS: readonly string[] = ['grpc-status', '0'];

const INDEXED_STATUS_200 = 0x88;
/** Literals that are not indexed: with a name of the static table (31, four bits of which are in the first byte), or none. */
const NAMED_CONTENT_TYPE = [0x0f, 0x10];
const UNNAMED = 0x00;

const HEAD_BLOCK = Buffer.from([INDEXED_STATUS_200, ...NAMED_CONTENT_TYPE, ...text('application/grpc')]);
const TAIL_BLOCK = Buffer.from([UNNAMED, ...text('grpc-status'), ...text('0')]);

/** HEADERS, and the head of DATA. */
const HEAD = Buffer.concat([
  frameHeadOf(FRAME_TYPE.HEADERS, FLAG.END_HEADERS, HEAD_BLOCK.length),
  HEAD_BLOCK,
  frameHeadOf(FRAME_TYPE.DATA, 0, 0),
]);
const TAIL = Buffer.concat([
  frameHeadOf(FRAME_TYPE.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, TAIL_BLOCK.length),
  TAIL_BLOCK,
]);
const DATA_AT = HEAD.length - FRAME_HEAD_BYTES;
const STREAM_ID_AT = 5;

/** Up to here a message is copied; a larger one is a write of its own in any case. */
const SMALL_BYTES = 4096;

/** The frames of the answer, whose message fits into one of them. */
export function usualAnswer(streamId: number, message: Buffer): readonly Buffer[] {
  const { length } = message;
  if (length >= SMALL_BYTES) {
    const head = Buffer.allocUnsafe(HEAD.length);
    writeHead(head, streamId, length);
    const tail = Buffer.allocUnsafe(TAIL.length);
    writeTail(tail, 0, streamId);
    return [head, message, tail];
  }
  const all = Buffer.allocUnsafe(HEAD.length + length + TAIL.length);
  writeHead(all, streamId, length);
  all.set(message, HEAD.length);
  writeTail(all, HEAD.length + length, streamId);
  return [all];
}

function writeHead(bytes: Buffer, streamId: number, messageBytes: number): void {
  bytes.set(HEAD);
  bytes.writeUInt32BE(streamId, STREAM_ID_AT);
  bytes.writeUIntBE(messageBytes, DATA_AT, 3);
  bytes.writeUInt32BE(streamId, DATA_AT + STREAM_ID_AT);
}

function writeTail(bytes: Buffer, at: number, streamId: number): void {
  bytes.set(TAIL, at);
  bytes.writeUInt32BE(streamId, at + STREAM_ID_AT);
}

function frameHeadOf(type: number, flags: number, payloadBytes: number): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payloadBytes, 0, 3);
  head[3] = type;
  head[4] = flags;
  return head;
}

function text(characters: string): number[] {
  return [characters.length, ...Buffer.from(characters, 'latin1')];
}
