import type { BatchTrace, Runner, RunnerSink, RunnerTicket } from '../../src/index.js';

/** The outcome of one call; `settled` counts how often it was settled. */
export class RunnerOutcome<R> implements RunnerSink<R> {
  settled = 0;
  result: R | undefined = undefined;
  trace: BatchTrace | undefined = undefined;
  error: (Error & { code?: string }) | undefined = undefined;
  ticket: RunnerTicket | undefined = undefined;

  resolve(result: R, trace: BatchTrace): void {
    this.settled += 1;
    this.result = result;
    this.trace = trace;
  }

  reject(error: Error): void {
    this.settled += 1;
    this.error = error;
  }
}

export function enqueue<I, R>(
  runner: Runner<I, R>,
  item: I,
  options?: Parameters<Runner<I, R>['enqueue']>[2],
): RunnerOutcome<R> {
  const outcome = new RunnerOutcome<R>();
  outcome.ticket = runner.enqueue(item, outcome, options);
  return outcome;
}
