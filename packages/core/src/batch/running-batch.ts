/**
 * A batch in its slot: calls the handler, delivers the results, and bisects a batch that failed when `isolate`
 * is set. Each caller is settled once, and the batch ends once.
 */

import type { StartedBatch } from '../backends/backend-health.js';
import type { BatchOutcome } from '../backends/backend-set.js';
import type { LearnedBackend } from '../backends/learned-backend.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { messageOf } from '../errors/describe.js';
import { BatchwiseError, type ErrorCode } from '../errors/errors.js';
import type { Settings } from '../options/options.js';
import type { Reason, RunningWork } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { BatchRecord } from './diagnostics.js';
import {
  type Handler,
  isThenable,
  neverAnswered,
  ONE_BY_ONE,
  unawaited,
  unreadable,
  wrongResults,
} from './handler.js';
import { HandlerCall } from './handler-call.js';

export class RunningBatch implements BatchRecord, RunningWork, StartedBatch {
  readonly dispatcher: Dispatcher;
  /** The settings at the start of the batch. They apply until its end. */
  readonly settings: Settings;
  readonly cost: number;
  readonly reason: Reason;
  readonly group: unknown;
  /** For a prefetched batch the expected start, until it starts. */
  startedAt: number;
  /** 1 for the first batch of its batcher. */
  readonly number: number;
  durationMs = Number.NaN;
  calls = 0;
  succeeded = 0;
  failed = 0;
  error: unknown = undefined;

  /** Callers that still wait for a result. */
  callers = 0;
  /** Calls of the same batcher that the handler of this batch awaits. */
  awaitedCalls = 0;
  /** Its index in the list of running batches. */
  index = -1;

  /** Undefined where a handler runs it. */
  readonly runsOn: LearnedBackend | undefined;
  /** The batch is with a backend that has not started it: see `readsAhead`. */
  isPrefetched: boolean;
  isTrial = false;
  ejections = 0;
  expectedMs: number | undefined = undefined;
  /** After this time a batch without an answer counts as a failure; undefined if no duration is known. */
  dueAt: number | undefined = undefined;

  readonly #entries: readonly Entry[];
  /** Parts of a bisected batch that have not run yet, the next one last. */
  #parts: (readonly Entry[])[] = NO_PARTS;
  #call: HandlerCall | undefined = undefined;
  #isOver = false;
  /** The backend failed, not single items. */
  #backendFailed = false;
  /** All callers were cancelled or expired before the handler had a result. */
  #hadNoCallers = false;
  #wasAbandoned = false;

  constructor(
    dispatcher: Dispatcher,
    entries: readonly Entry[],
    cost: number,
    reason: Reason,
    group: unknown,
    startedAt: number,
    runsOn: LearnedBackend | undefined,
    isPrefetched: boolean,
  ) {
    this.dispatcher = dispatcher;
    this.settings = dispatcher.settings;
    this.cost = cost;
    this.reason = reason;
    this.group = group;
    this.startedAt = startedAt;
    this.number = dispatcher.ledger.batches + 1;
    this.runsOn = runsOn;
    this.isPrefetched = isPrefetched;
    this.#entries = entries;
    for (const entry of entries) {
      if (entry.shared === undefined) this.join(entry);
      else {
        // The entry carries the item for other callers even if its own was cancelled.
        entry.batch = this;
        for (const caller of entry.shared.callers) this.join(caller);
      }
    }
  }

  get handler(): Handler<never, unknown> {
    return this.runsOn === undefined ? this.settings.handler : this.runsOn.member.run;
  }

  /** The id of its backend; undefined where a handler runs it. */
  get backend(): string | undefined {
    return this.runsOn?.id;
  }

  get name(): string {
    return this.settings.name;
  }

  /** The number of slots is limited, so that all of them may wait for each other. */
  get mayDeadlock(): boolean {
    return this.settings.concurrency !== Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.#entries.length;
  }

  get waitsMs(): readonly number[] {
    return this.#entries.map(({ arrivedAt }) => this.startedAt - arrivedAt);
  }

  start(): void {
    this.#run(this.#entries, this.cost, this.startedAt);
    this.resume();
  }

  /** The backend has a free slot for the prefetched batch. */
  begin(now: number): void {
    this.isPrefetched = false;
    this.startedAt = now;
    this.#call?.begin(now, this.dispatcher.timeouts);
  }

  /** Runs the remaining parts of a bisected batch, until a call is pending. */
  resume(): void {
    while (this.#call?.settled) {
      const part = this.#parts.pop();
      if (part === undefined) {
        this.#end();
        return;
      }
      const entries = part.filter(isWanted);
      if (entries.length > 0) this.#run(entries, sumOfCosts(entries), this.settings.clock.now());
    }
  }

  #run(entries: readonly Entry[], cost: number, startedAt: number): void {
    this.calls += 1;
    this.#call = new HandlerCall(this, entries, cost, startedAt);
    this.#call.start(this.isPrefetched ? undefined : this.dispatcher.timeouts);
  }

  /** Counts a caller of this batch. */
  join(entry: Entry): void {
    entry.batch = this;
    this.callers += 1;
  }

  /** The last caller of this item was cancelled or has expired. */
  unwanted(entry: Entry): void {
    this.#call?.unwanted(entry);
  }

  /** Fires the handler's signal once all callers were cancelled or expired. */
  abortIfUnwanted(): void {
    if (this.callers > 0) return;
    this.#parts = NO_PARTS;
    this.#call?.abort(
      new BatchwiseError(
        'CANCELLED',
        `${this.name}: all callers of this batch were cancelled or have expired.`,
      ),
    );
  }

  /** Ends the batch: its callers fail, its signal fires, and later results of the handler are ignored. */
  abandon(error: BatchwiseError): void {
    const call = this.#call;
    this.#parts = NO_PARTS;
    call?.settle();
    this.error = error;
    this.#wasAbandoned = true;
    this.#failAll(this.#entries, error);
    this.#end();
    call?.abort(error);
  }

  /** The handler returned. */
  answered(call: HandlerCall, results: unknown): void {
    const { entries, cost, startedAt } = call;
    const wasOneByOne = results === ONE_BY_ONE;
    const wrong = wasOneByOne ? undefined : wrongResults(results, entries.length, this.name);
    if (wrong !== undefined) {
      this.error = wrong;
      this.#failAll(entries, wrong);
      return;
    }
    const now = this.settings.clock.now();
    call.answeredAt = now;
    this.durationMs = this.#elapsedMs(now);
    if (!wasOneByOne) {
      for (let i = 0; i < entries.length; i++) this.#answer(entries[i] as Entry, results as unknown[], i);
    } else if (this.callers > 0) this.#failAll(entries, neverAnswered(this.name));
    if (call.isAborted) {
      // A handler that has answered one by one may stop early once no caller is left: that is no result.
      this.#hadNoCallers = wasOneByOne;
      this.#learnAtLeast(call);
    }
    // A backend that is down may fail every item quickly, which is not its service time.
    else if (call.succeeded > 0 && !this.isPrefetched) {
      const { length: size } = entries;
      const completed = { size, cost, startedAt, durationMs: now - startedAt, callers: call.settledCallers };
      this.dispatcher.learning.learn(completed, this, now);
    }
  }

  /** The handler called `context.answer()`. */
  answeredOne(entry: Entry, result: unknown): void {
    this.durationMs = this.#elapsedMs(this.settings.clock.now());
    this.#answer(entry, [result], 0);
  }

  threw(call: HandlerCall, thrown: unknown): void {
    const { entries } = call;
    this.error = thrown;
    if (call.isAborted) {
      this.#hadNoCallers = true;
      this.#learnAtLeast(call);
    }
    if (this.runsOn !== undefined && isForWholeBatch(thrown, entries)) {
      this.#failed(entries, thrown);
      return;
    }
    if (this.settings.isolate && entries.length > 1 && this.callers > 0) {
      const middle = entries.length >> 1;
      this.#parts = [...this.#parts, entries.slice(middle), entries.slice(0, middle)];
      return;
    }
    const message = `${this.name}: the handler threw: ${messageOf(thrown)}`;
    this.#failAll(entries, new BatchwiseError('HANDLER_FAILED', message, { cause: thrown }));
  }

  timedOut(call: HandlerCall, error: BatchwiseError): void {
    this.error = error;
    this.#backendFailed = true;
    this.#learnAtLeast(call);
    this.#failAll(call.entries, error);
  }

  /** The backend failed the whole batch. Callers get its error unchanged. */
  #failed(entries: readonly Entry[], error: BatchwiseError): void {
    if (error.notStarted || OUTAGES.includes(error.code)) this.#backendFailed = true;
    const rest = error.notStarted
      ? this.dispatcher.placement.returnToQueue(entries.filter(isWanted), this)
      : entries;
    this.#failAll(rest, error);
  }

  /** The outcome of the batch for the health of its backend. */
  outcome(now: number): BatchOutcome {
    if (this.#wasAbandoned) return 'forgotten';
    if (this.#backendFailed) return 'failed';
    if (this.succeeded > 0) return 'succeeded';
    if (this.#hadNoCallers && this.runsOn !== undefined) return this.runsOn.outcomeWithoutCallers(this, now);
    return this.failed > 0 ? 'answeredWithErrors' : 'succeeded';
  }

  #learnAtLeast({ cost, startedAt }: HandlerCall): void {
    if (this.isPrefetched) return;
    const now = this.settings.clock.now();
    this.dispatcher.learning.learnAtLeast(cost, this.group, now - startedAt, now);
  }

  #failAll(entries: readonly Entry[], error: Error): void {
    for (const entry of entries) this.#settle(entry, error, true);
  }

  #answer(entry: Entry, results: readonly unknown[], index: number): void {
    let answer: unknown;
    let isError = false;
    try {
      answer = results[index];
      if (answer instanceof Error) isError = true;
      else if (isThenable(answer)) {
        answer = unawaited(answer, this.name);
        isError = true;
      }
    } catch (thrown) {
      answer = unreadable(thrown, this.name);
      isError = true;
    }
    this.#settle(entry, answer, isError);
  }

  #settle(entry: Entry, answer: unknown, isError: boolean): void {
    if (entry.shared === undefined) {
      this.#settleCaller(entry, answer, isError);
      return;
    }
    const { callers } = entry.shared;
    this.dispatcher.sharedWorks.end(entry.shared);
    for (const caller of callers) this.#settleCaller(caller, answer, isError);
  }

  #settleCaller(caller: Entry, answer: unknown, isError: boolean): void {
    if (caller.sink === undefined) return; // cancelled, maybe by the callback of another caller
    // Undefined if the callback of another caller has abandoned the batch.
    const call = this.#call;
    this.callers -= 1;
    if (call !== undefined) call.settledCallers += 1;
    if (isError) {
      this.failed += 1;
      this.dispatcher.ledger.fail(caller, answer as Error);
    } else {
      this.succeeded += 1;
      if (call !== undefined) call.succeeded += 1;
      this.dispatcher.ledger.succeed(caller, answer, this);
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const now = this.#call?.answeredAt ?? this.settings.clock.now();
    this.#call = undefined;
    this.durationMs = this.#elapsedMs(now);
    this.dispatcher.batchEnded(this, now);
  }

  #elapsedMs(now: number): number {
    return Math.max(0, now - this.startedAt);
  }

  /** A copy, which subscribers may keep. */
  record(): BatchRecord {
    return {
      name: this.name,
      size: this.size,
      cost: this.cost,
      reason: this.reason,
      group: this.group,
      startedAt: this.startedAt,
      durationMs: this.durationMs,
      waitsMs: this.waitsMs,
      calls: this.calls,
      succeeded: this.succeeded,
      failed: this.failed,
      error: this.error,
      backend: this.backend,
    };
  }
}

const NO_PARTS: (readonly Entry[])[] = [];

/** Errors of a backend that did not respond. */
const OUTAGES: readonly ErrorCode[] = ['UNAVAILABLE', 'HANDLER_TIMEOUT', 'DEADLINE_EXCEEDED'];

/** Whether no single item can be the cause, so that bisecting the batch is useless. */
function isForWholeBatch(thrown: unknown, entries: readonly Entry[]): thrown is BatchwiseError {
  if (!(thrown instanceof BatchwiseError)) return false;
  return thrown.code !== 'INVALID_ITEM' || entries.length === 1;
}

function isWanted(entry: Entry): boolean {
  return !entry.settled || entry.shared !== undefined;
}

function sumOfCosts(entries: readonly Entry[]): number {
  let sum = 0;
  for (const { cost } of entries) sum += cost;
  return sum;
}
