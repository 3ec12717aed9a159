import type { IncomingHttpHeaders } from 'node:http2';
import {
  type CallEnd,
  type CallOptions,
  frameOf,
  type GrpcChannel,
  messageOf,
  type OutgoingCall,
} from '../../src/index.js';

export interface CollectedCall {
  readonly call: OutgoingCall;
  readonly messages: Buffer[];
  readonly headers: () => IncomingHttpHeaders | undefined;
  readonly ends: CallEnd[];
  readonly ended: Promise<CallEnd>;
}

/** A call that gathers what comes. With messages, they are sent and the call is half-closed. */
export function collectedCall(
  channel: GrpcChannel,
  path: string,
  options: CallOptions = {},
  messages?: readonly (Buffer | string)[],
  onMessage?: (message: Buffer) => void,
): CollectedCall {
  const received: Buffer[] = [];
  const ends: CallEnd[] = [];
  let headers: IncomingHttpHeaders | undefined;
  let settle: (end: CallEnd) => void = () => {};
  const ended = new Promise<CallEnd>((resolve) => {
    settle = resolve;
  });
  const call = channel.call(path, options, {
    onHeaders: (got) => {
      headers = got;
    },
    onFrame: (frame) => {
      received.push(messageOf(frame));
      onMessage?.(messageOf(frame));
    },
    onEnd: (end) => {
      ends.push(end);
      settle(end);
    },
  });
  if (messages !== undefined) {
    for (const message of messages) call.write(frameOf(Buffer.from(message as Buffer)));
    call.end();
  }
  return { call, messages: received, headers: () => headers, ends, ended };
}
