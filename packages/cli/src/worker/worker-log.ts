/**
 * The log of a worker. stdout has its batches in the format of dynamic_batcher, which programs parse, and with --verbose how
 * each batch ended. stderr has the messages for the operator.
 */
import type { ProcessorNotice } from '@batchwise/redis';
import type { BatchContext, BatchRecord } from 'batchwise';
import { errorLine, messageOf } from '../terminal/failure.js';
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

  /** `delay` is a constant for programs that parse the line: there is no polling. */
  started(): void {
    const { rule } = this.#options;
    const time = rule.kind === 'window' ? seconds(rule.seconds) : nameOf(rule);
    this.#terminal.stdout.write(
      `BatchProcessor start: delay=0.001, batch_size=${this.#size} batch_time=${time}\n`,
    );
  }

  /** With a window, the hold of the oldest item out of the window; else the dispatch reason. */
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
      this.#error(`a batch of ${size} failed: ${messageOf(error)}`);
      if (this.#options.verbose && error instanceof Error) this.note(String(error.stack));
    }
    if (!this.#options.verbose) return;
    const took = (durationMs / 1000).toFixed(3);
    this.#terminal.stdout.write(`batch end: ${took}, ${succeeded} answered, ${failed} failed\n`);
  }

  /** For events after the start. */
  notice(notice: ProcessorNotice): void {
    const { queue, maxDeliveries } = this.#options;
    switch (notice.event) {
      case 'connected':
        this.note('Redis is reachable again.');
        break;
      case 'disconnected':
        this.note(`Redis is unreachable: ${sentence(notice.error)} The items stay in the queue.`);
        break;
      case 'taken-over':
        this.note(`Took over ${items(notice.items)} ${pastOf(notice.delivery)}.`);
        break;
      case 'died':
        this.note(
          `Dead letter: ${items(notice.items)} without an answer after ${maxDeliveries} deliveries. ` +
            `See batchwise dead list --queue ${queue}.`,
        );
        break;
      case 'fenced':
        this.note(`The result of ${notice.id} is dropped: another worker has taken over the item.`);
        break;
      case 'failed':
        this.#error(`${sentence(notice.error)} The worker tries again.`);
        break;
      case 'evicting':
        this.#error(sentence(notice.error));
        break;
    }
  }

  #error(message: string): void {
    this.#terminal.stderr.write(errorLine(message, this.#terminal));
  }

  note(line: string): void {
    this.#terminal.stderr.write(`${line}\n`);
  }
}

function sentence(thrown: unknown): string {
  return messageOf(thrown).replace(/[^.]$/, '$&.');
}

/** A returned item counts as not delivered. */
function pastOf(delivery: number): string {
  return delivery > 1 ? `of a worker without heartbeat, delivery ${delivery}` : 'that a worker returned';
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${count} items`;
}

function nameOf(rule: BatchRule): string {
  return rule.kind === 'own' ? rule.policy.name : rule.kind;
}

/** Without trailing zeros. */
function seconds(value: number): string {
  return String(Number(value.toFixed(6)));
}
