export const FRAME_TYPE = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const FLAG = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** Length, type, flags and stream: what stands before every payload. */
export const FRAME_HEAD_BYTES = 9;

/** Of every peer that has not said otherwise, and of us, who never say otherwise. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 16_384;
