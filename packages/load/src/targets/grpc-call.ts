/** One call with one request message and one response message, as a promise: for questions before the run. */
import { type CallEnd, frameOf, type GrpcChannel, messageOf } from '@batchwise/grpc';

export interface GrpcAnswer {
  readonly end: CallEnd;
  /** Undefined where no message came. */
  readonly message: Buffer | undefined;
}

export interface GrpcQuestion {
  readonly path: string;
  readonly message: Uint8Array;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Descriptors of large services with all that they import. */
const MOST_BYTES = 64 * 2 ** 20;
const QUESTION_TIMEOUT_MS = 10_000;

export function grpcCall(
  channel: GrpcChannel,
  { path, message, metadata }: GrpcQuestion,
): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    let answer: Buffer | undefined;
    const options = { metadata, timeoutMs: QUESTION_TIMEOUT_MS, maxMessageBytes: MOST_BYTES };
    const call = channel.call(path, options, {
      onFrame: (frame) => {
        answer ??= messageOf(frame);
      },
      onEnd: (end) => resolve({ end, message: answer }),
    });
    call.end(frameOf(message));
  });
}
