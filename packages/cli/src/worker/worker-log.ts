/**
 * What a worker says. Its work goes to stdout: the two lines of dynamic_batcher, for those who read them by program, and on
 * demand how batches ended. What an operator should know goes to stderr.
 */
import type { ProcessorNotice } from '@batchwise/redis';
import type { BatchContext, BatchRecord } from 'batchwise';
import { messageOf } from '../terminal/failure.js';
import type { Terminal } from '../terminal/terminal.js';
import type { BatchRule } from './worker-settings.js';

export interface WorkerLogOptions {
  readonly queue: string;
  readonly maxBatchSize: number;
  readonly maxDeliveries: number;
  readonly rule: BatchRule;
  readonly verbose: boolean;
  readonly quiet: boolean;
}

export class WorkerLog {
  readonly #terminal: Terminal;
  readonly #options: WorkerLogOptions;
  readonly #size: string;

  constructor(terminal: Terminal, options: WorkerLogOptions) {
    const { maxBatchSize } = options;
    this.#terminal = terminal;
    this.#options = options;
    this.#size = Number.isFinite(maxBatchSize) && maxBatchSize > 0 ? String(maxBatchSize) : 'inf';
  }

  /** There is no polling here, so the delay says nothing; it is part of the line. */
  started(): void {
    const { rule } = this.#options;
    const time = rule.kind === 'window' ? seconds(rule.seconds) : nameOf(rule);
    this.#terminal.stdout.write(
      `BatchProcessor start: delay=0.001, batch_size=${this.#size} batch_time=${time}\n`,
    );
  }

  /** With a window, how long the oldest has waited of it; else why the batch leaves now. */
  batchStarts({ cost, reason, oldestWaitMs }: Pick<BatchContext, 'cost' | 'reason' | 'oldestWaitMs'>): void {
    const { rule, quiet } = this.#options;
    if (quiet) return;
    const waited = (oldestWaitMs / 1000).toFixed(3);
    const line =
      rule.kind === 'window'
        ? `${waited}/${seconds(rule.seconds)}, ${cost}/${this.#size}`
        : `${waited}, ${cost}/${this.#size} (${reason})`;
    this.#terminal.stdout.write(`batch start: ${line}\n`);
  }

  batchEnded({ size, succeeded, failed, durationMs, error }: BatchRecord): void {
    if (error !== undefined) {
      this.note(`error: a batch of ${size} failed: ${messageOf(error)}`);
      if (this.#options.verbose && error instanceof Error) this.note(String(error.stack));
    }
    if (!this.#options.verbose) return;
    const took = (durationMs / 1000).toFixed(3);
    this.#terminal.stdout.write(`batch end: ${took}, ${succeeded} answered, ${failed} failed\n`);
  }

  /** Of what happens once it has started. */
  notice(notice: ProcessorNotice): void {
    const { queue, maxDeliveries } = this.#options;
    switch (notice.event) {
      case 'connected':
        this.note('Redis is back.');
        break;
      case 'disconnected':
        this.note(`Redis is away: ${sentence(notice.error)} What is in the queue waits there.`);
        break;
      case 'taken-over':
        this.note(`Took over ${items(notice.items)} ${pastOf(notice.delivery)}.`);
        break;
      case 'died':
        this.note(
          `${items(notice.items)} delivered ${maxDeliveries} times and never answered: ` +
            `see batchwise dead list --queue ${queue}.`,
        );
        break;
      case 'fenced':
        this.note(`The answer to ${notice.id} is not taken: another processor has taken the item over.`);
        break;
      case 'failed':
        this.note(`error: ${sentence(notice.error)} It is tried again.`);
        break;
      case 'evicting':
        this.note(`error: ${sentence(notice.error)}`);
        break;
    }
  }

  note(line: string): void {
    this.#terminal.stderr.write(`${line}\n`);
  }
}

function sentence(thrown: unknown): string {
  return messageOf(thrown).replace(/[^.]$/, '$&.');
}

/** What was given back counts as never delivered. */
function pastOf(delivery: number): string {
  return delivery > 1 ? `of a processor that fell silent, delivery ${delivery}` : 'that had been given back';
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${count} items`;
}

function nameOf(rule: BatchRule): string {
  return rule.kind === 'own' ? rule.policy.name : rule.kind;
}

/** As short as it can be written. */
function seconds(value: number): string {
  return String(Number(value.toFixed(6)));
}
