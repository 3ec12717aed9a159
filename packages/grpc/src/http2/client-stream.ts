import type { IncomingHttpHeaders } from 'node:http2';
import { ERROR_CODE } from './error-code.js';
import { type ContentListener, Http2Stream, type StreamCarrier } from './http2-stream.js';
import type { ReceivedResponse } from './received-response.js';

/** What becomes of a request, in the order in which it is told. */
export interface StreamListener extends ContentListener {
  /** `isAll`: neither messages nor trailers follow. */
  responded(headers: IncomingHttpHeaders, isAll: boolean): void;
}

const { FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR, STREAM_CLOSED } = ERROR_CODE;
const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;

/** One request and its answer, as a client has them. */
export class ClientStream extends Http2Stream<StreamListener> {
  #hasResponse = false;

  constructor(
    id: number,
    carrier: StreamCarrier,
    listener: StreamListener,
    windows: { readonly send: number; readonly receive: number },
  ) {
    super(id, carrier, listener, windows.send, windows.receive);
  }

  gotHeaders({ errorCode, headers, status }: ReceivedResponse, isLast: boolean): void {
    if (this.isAllReceived) this.reset(STREAM_CLOSED);
    else if (errorCode !== NO_ERROR) this.reset(errorCode);
    else if (this.#hasResponse) {
      if (!isLast || status !== 0) this.reset(PROTOCOL_ERROR);
      else this.gotAll(headers);
    } else if (status === 0 || status === SWITCHING_PROTOCOLS) this.reset(PROTOCOL_ERROR);
    else if (status < FIRST_FINAL_STATUS) {
      if (isLast) this.reset(PROTOCOL_ERROR);
    } else {
      this.#hasResponse = true;
      this.listener.responded(headers, isLast);
      if (isLast && !this.isClosed) this.gotAll(undefined);
    }
  }

  /** `wireBytes` counts the padding, too. */
  gotData(bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (this.isAllReceived) this.reset(STREAM_CLOSED);
    else if (!this.#hasResponse) this.reset(PROTOCOL_ERROR);
    else if (!this.takeFromWindow(wireBytes)) this.reset(FLOW_CONTROL_ERROR);
    else this.give(bytes, wireBytes, isLast);
  }

  /** What has come before a reset without an error is still given. */
  gotReset(errorCode: number): void {
    this.close(errorCode, errorCode === NO_ERROR || this.isAllReceived);
  }
}
