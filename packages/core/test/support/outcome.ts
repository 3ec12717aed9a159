/** The outcome of a call, readable at any time: `pending` until it is settled. */
import { BatchwiseError } from 'batchwise';

export interface Outcome<R> {
  state: 'pending' | 'resolved' | 'rejected';
  value?: R;
  error?: unknown;
  /** The Batchwise error code, when it is one. */
  code?: string;
  /** How often it was settled; more than once is a bug. */
  settled: number;
}

export function outcomeOf<R>(promise: Promise<R>): Outcome<R> {
  const outcome: Outcome<R> = { state: 'pending', settled: 0 };
  promise.then(
    (value) => {
      outcome.state = 'resolved';
      outcome.value = value;
      outcome.settled += 1;
    },
    (error: unknown) => {
      outcome.state = 'rejected';
      outcome.error = error;
      outcome.settled += 1;
      if (error instanceof BatchwiseError) outcome.code = error.code;
    },
  );
  return outcome;
}
