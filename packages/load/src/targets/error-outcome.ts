/** The outcome of a request that ended with an error of Batchwise, or of the function that it called. */
import { BatchwiseError } from 'batchwise';
import type { Outcome } from './target.js';
import { expiredReason } from './time-limit.js';

/** Reports count by reason: a long text is cut off, so that a message with all the data in it is readable. */
const LONGEST_REASON = 200;

export function errorOutcome(error: unknown, timeoutMs?: number): Outcome {
  if (!(error instanceof BatchwiseError))
    return { kind: 'failed', reason: shortReason(textOf(error)), responseBytes: 0 };
  switch (error.code) {
    case 'QUEUE_FULL':
    case 'OVERLOADED':
      return { kind: 'rejected', reason: error.code, responseBytes: 0 };
    case 'DEADLINE_EXCEEDED':
      return {
        kind: 'failed',
        reason: timeoutMs === undefined ? error.code : expiredReason(timeoutMs),
        responseBytes: 0,
      };
    default:
      // Messages of Batchwise have figures in them, which differ from error to error.
      return { kind: 'failed', reason: error.code, responseBytes: 0 };
  }
}

export function shortReason(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
