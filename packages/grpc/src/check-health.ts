import { frameOf, isCompressed, messageOf } from './frame.js';
import type { GrpcChannel } from './grpc-channel.js';
import { GrpcError } from './grpc-error.js';
import { STATUS } from './status.js';

export type HealthState = 'serving' | 'not serving' | 'unimplemented' | 'unknown';

export interface HealthCheckOptions {
  /** @default '', the server as a whole */
  readonly service?: string | undefined;
  readonly timeoutMs: number;
}

/** `grpc.health.v1.Health/Check` over a channel. Returns how to give up; the callback is not called then. */
export function checkHealth(
  channel: GrpcChannel,
  { service = '', timeoutMs }: HealthCheckOptions,
  callback: (state: HealthState | Error) => void,
): () => void {
  let answer: Buffer | undefined;
  let isGivenUp = false;
  const call = channel.call(
    '/grpc.health.v1.Health/Check',
    { timeoutMs, maxMessageBytes: MAX_ANSWER_BYTES },
    {
      onFrame: (frame) => {
        answer = frame;
      },
      onEnd: ({ status, message, cause }) => {
        if (isGivenUp) return;
        if (status === STATUS.UNIMPLEMENTED) callback('unimplemented');
        else if (status === STATUS.NOT_FOUND) callback('unknown');
        else if (status !== STATUS.OK) callback(new GrpcError(status, message, { cause }));
        else callback(healthOf(answer));
      },
    },
  );
  call.write(frameOf(requestFor(service)));
  call.end();
  return () => {
    isGivenUp = true;
    call.cancel();
  };
}

const MAX_ANSWER_BYTES = 64 * 1024;
const SERVING = 1;
const NOT_SERVING = 2;

/** `message HealthCheckRequest { string service = 1; }` */
function requestFor(service: string): Buffer {
  if (service === '') return Buffer.alloc(0);
  const name = Buffer.from(service, 'utf8');
  return Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return bytes;
}

/** `message HealthCheckResponse { ServingStatus status = 1; }`; nothing else is looked at. */
function healthOf(frame: Buffer | undefined): HealthState | Error {
  if (frame === undefined || isCompressed(frame)) {
    return new GrpcError(
      STATUS.INTERNAL,
      'expected one uncompressed message from the health check, got none',
    );
  }
  const message = messageOf(frame);
  const status = message[0] === 0x08 ? message[1] : 0;
  if (status === SERVING) return 'serving';
  return status === NOT_SERVING ? 'not serving' : 'unknown';
}
