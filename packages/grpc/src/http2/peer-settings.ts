import { ERROR_CODE } from './error-code.js';
import { SETTING_BYTES } from './frame-encoder.js';
import { DEFAULT_MAX_PAYLOAD_BYTES } from './frame-type.js';
import { Http2Fault } from './http2-fault.js';

export const SETTING = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_WINDOW_BYTES = 2 ** 31 - 1;
const MAX_PAYLOAD_BYTES = 2 ** 24 - 1;

/** What the peer allows; what it has not said is as HTTP/2 has it. */
export class PeerSettings {
  /** Only a client may allow pushes. */
  readonly #mayAllowPushes: boolean;
  headerTableBytes = 4096;
  /** The least that the last frame said on the way to it: a table that was shrunk has lost what did not fit. */
  leastHeaderTableBytes = 4096;
  maxStreams = Number.POSITIVE_INFINITY;
  windowBytes = DEFAULT_WINDOW_BYTES;
  maxPayloadBytes = DEFAULT_MAX_PAYLOAD_BYTES;
  maxHeaderBytes = Number.POSITIVE_INFINITY;

  constructor(mayAllowPushes = false) {
    this.#mayAllowPushes = mayAllowPushes;
  }

  /** Takes over what a SETTINGS frame says. */
  apply(payload: Buffer): void {
    if (payload.length % SETTING_BYTES !== 0) {
      throw new Http2Fault(ERROR_CODE.FRAME_SIZE_ERROR, `invalid SETTINGS of ${payload.length} bytes`);
    }
    this.leastHeaderTableBytes = this.headerTableBytes;
    for (let at = 0; at < payload.length; at += SETTING_BYTES) {
      this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
  }

  #set(id: number, value: number): void {
    switch (id) {
      case SETTING.HEADER_TABLE_SIZE:
        this.headerTableBytes = value;
        this.leastHeaderTableBytes = Math.min(this.leastHeaderTableBytes, value);
        break;
      case SETTING.ENABLE_PUSH:
        if (value !== 0 && !(this.#mayAllowPushes && value === 1))
          throw invalid('ENABLE_PUSH', value, ERROR_CODE.PROTOCOL_ERROR);
        break;
      case SETTING.MAX_CONCURRENT_STREAMS:
        this.maxStreams = value;
        break;
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > MAX_WINDOW_BYTES) {
          throw invalid('INITIAL_WINDOW_SIZE', value, ERROR_CODE.FLOW_CONTROL_ERROR);
        }
        this.windowBytes = value;
        break;
      case SETTING.MAX_FRAME_SIZE:
        if (value < DEFAULT_MAX_PAYLOAD_BYTES || value > MAX_PAYLOAD_BYTES) {
          throw invalid('MAX_FRAME_SIZE', value, ERROR_CODE.PROTOCOL_ERROR);
        }
        this.maxPayloadBytes = value;
        break;
      case SETTING.MAX_HEADER_LIST_SIZE:
        this.maxHeaderBytes = value;
        break;
      default: // one of an extension
    }
  }
}

function invalid(name: string, value: number, errorCode: number): Http2Fault {
  return new Http2Fault(errorCode, `${name} was set to ${value}`);
}
