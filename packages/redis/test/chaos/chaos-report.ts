/** What came of doing one's worst. */
import type { Ledger } from '../support/ledger.js';

export interface ChaosReport {
  readonly requests: number;
  /** How many ended in which way. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** What was done, and what it led to. */
  readonly figures: Readonly<Record<string, number>>;
  /** What no fault excuses, a sentence each. */
  readonly wrong: readonly string[];
}

/** Called from time to time with how much is done. */
export type Progress = (done: number, of: number) => void;

/** The books, and that every request was answered: where nothing excuses any other end. */
export function allAnswered(ledger: Ledger, requests: number): string[] {
  const answered = ledger.count('answered');
  const others = JSON.stringify(ledger.outcomes);
  return [
    ...ledger.audit(),
    ...(answered === requests ? [] : [`${answered} of ${requests} requests were answered: ${others}`]),
  ];
}
