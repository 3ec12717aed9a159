/** What the end of a batch's stream means: for those who have no answer, and for the backend's good name. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type CallEnd, GrpcError, metadataOf, STATUS } from '@batchwise/grpc';
import { backendFault } from './backend-fault.js';

/** What the protocol sends along with a status and callers understand. */
const PASSED_ON = ['grpc-status-details-bin', 'grpc-retry-pushback-ms'];

export interface EndedRoute {
  readonly path: string;
  readonly batchedPath: string;
}

export function endToGrpc(end: CallEnd, { path, batchedPath }: EndedRoute): GrpcError {
  const { status, trailers, cause } = end;
  const said = end.message;
  if (isOfCall(end)) return new GrpcError(status, said, cause === undefined ? {} : { cause });
  if (!isOfBackend(end)) return backendFault(status, cause);
  const message =
    status === STATUS.UNIMPLEMENTED
      ? `the backend does not serve ${batchedPath}, which ${path} is batched by${said ? `: ${said}` : ''}`
      : said;
  return new GrpcError(status, message, { trailers: trailersOf(trailers) });
}

/** Whether the call itself is why it was not sent: the message is about its metadata or its deadline. */
function isOfCall({ status, isUnseen }: CallEnd): boolean {
  return isUnseen && status !== STATUS.UNAVAILABLE;
}

/** Whether the backend has sent this status itself; else it was found here, and its message has addresses and error codes. */
export function isOfBackend({ status, trailers }: CallEnd): boolean {
  return trailers['grpc-status'] !== undefined && Number(trailers['grpc-status']) === status;
}

export function tooFewAnswers(path: string, answers: number, items: number): GrpcError {
  const counts = `expected ${items === 1 ? 'one answer' : `${items} answers, one for each item`}, got ${answers}`;
  return new GrpcError(STATUS.INTERNAL, `the backend ended ${path} with OK too early: ${counts}`);
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
