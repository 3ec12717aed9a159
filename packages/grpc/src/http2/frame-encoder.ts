/** Frames as they are sent. */
import { FLAG, FRAME_HEAD_BYTES, FRAME_TYPE } from './frame-type.js';

/** What a client says first. */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export function frameHead(type: number, flags: number, streamId: number, payloadBytes: number): Buffer {
  return withHead(Buffer.allocUnsafe(FRAME_HEAD_BYTES), type, flags, streamId, payloadBytes);
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(SETTING_BYTES * settings.length);
  settings.forEach(([id, value], place) => {
    payload.writeUInt16BE(id, SETTING_BYTES * place);
    payload.writeUInt32BE(value, SETTING_BYTES * place + 2);
  });
  return Buffer.concat([frameHead(FRAME_TYPE.SETTINGS, 0, 0, payload.length), payload]);
}

export function settingsAck(): Buffer {
  return frameHead(FRAME_TYPE.SETTINGS, FLAG.ACK, 0, 0);
}

export function pingFrame(payload: Uint8Array, isAck: boolean): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + PING_BYTES);
  withHead(frame, FRAME_TYPE.PING, isAck ? FLAG.ACK : 0, 0, PING_BYTES);
  frame.set(payload, FRAME_HEAD_BYTES);
  return frame;
}

export function windowUpdate(streamId: number, increment: number): Buffer {
  return withNumber(FRAME_TYPE.WINDOW_UPDATE, streamId, increment);
}

export function resetFrame(streamId: number, errorCode: number): Buffer {
  return withNumber(FRAME_TYPE.RST_STREAM, streamId, errorCode);
}

/** A client is sent no streams, so the last one it has seen is none. */
export function goawayFrame(errorCode: number, lastStreamId = 0): Buffer {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + 2 * NUMBER_BYTES);
  withHead(frame, FRAME_TYPE.GOAWAY, 0, 0, 2 * NUMBER_BYTES);
  frame.writeUInt32BE(lastStreamId, FRAME_HEAD_BYTES);
  frame.writeUInt32BE(errorCode, FRAME_HEAD_BYTES + NUMBER_BYTES);
  return frame;
}

export const PING_BYTES = 8;
export const SETTING_BYTES = 6;
const NUMBER_BYTES = 4;

function withNumber(type: number, streamId: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + NUMBER_BYTES);
  withHead(frame, type, 0, streamId, NUMBER_BYTES);
  frame.writeUInt32BE(value, FRAME_HEAD_BYTES);
  return frame;
}

function withHead(
  frame: Buffer,
  type: number,
  flags: number,
  streamId: number,
  payloadBytes: number,
): Buffer {
  frame.writeUIntBE(payloadBytes, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(streamId, 5);
  return frame;
}
