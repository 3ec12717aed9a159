/** What the end of a batch's stream means: for those who have no answer, and for the backend's good name. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type CallEnd, GrpcError, metadataOf, STATUS } from '@batchwise/grpc';

/** What the protocol sends along with a status and callers understand. */
const PASSED_ON = ['grpc-status-details-bin', 'grpc-retry-pushback-ms'];

export interface EndedRoute {
  readonly path: string;
  readonly batchedPath: string;
}

export function endToGrpc(end: CallEnd, target: string, { path, batchedPath }: EndedRoute): GrpcError {
  const { status, trailers, cause } = end;
  const said = end.message;
  const message =
    status === STATUS.UNIMPLEMENTED
      ? `backend ${target} does not serve ${batchedPath}, which ${path} is batched by${said ? `: ${said}` : ''}`
      : said;
  return new GrpcError(status, message, {
    trailers: trailersOf(trailers),
    ...(cause === undefined ? {} : { cause }),
  });
}

export function tooFewAnswers(target: string, path: string, answers: number, items: number): GrpcError {
  const counts = `expected ${items === 1 ? 'one answer' : `${items} answers, one for each item`}, got ${answers}`;
  return new GrpcError(STATUS.INTERNAL, `backend ${target} ended ${path} with OK too early: ${counts}`);
}

/** Statuses that say nothing of the backend's health even when the backend did not send them itself. */
const BLAMELESS: readonly number[] = [
  STATUS.OK,
  STATUS.CANCELLED,
  STATUS.DEADLINE_EXCEEDED,
  STATUS.RESOURCE_EXHAUSTED,
];

/** Whether something is wrong with the backend: it says so, or the stream ended without a status of its own. */
export function speaksAgainst({ status, trailers, isUnseen }: CallEnd): boolean {
  if (status === STATUS.UNAVAILABLE) return true;
  // What could not be sent, because of what a caller gave, says nothing of it.
  if (isUnseen) return false;
  return trailers['grpc-status'] === undefined && !BLAMELESS.includes(status);
}

function trailersOf(trailers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed = metadataOf(trailers);
  for (const key of PASSED_ON) if (trailers[key] !== undefined) passed[key] = trailers[key];
  return passed;
}
