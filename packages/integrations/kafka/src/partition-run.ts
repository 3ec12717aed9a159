/**
 * Takes the messages that kafkajs fetched from one partition through the batcher, and resolves offsets up to the last
 * message before which all have succeeded.
 */
import { type Batcher, BatchwiseError, type Clock } from 'batchwise';
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import { Contiguous } from './contiguous.js';

export interface ReceivedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly message: KafkaMessage;
}

export interface RunSettings {
  readonly batcher: Batcher<ReceivedMessage, unknown>;
  readonly clock: Clock;
  /** How many messages of the partition may be in the batcher. */
  readonly window: number;
  readonly onFailed: ((error: Error, received: ReceivedMessage) => unknown) | undefined;
  /** False when the consumer has joined its group again since the messages were fetched. */
  isCurrent(): boolean;
  isClosing(): boolean;
}

/** The message at which the partition stops, and why. */
export interface Failure {
  readonly received: ReceivedMessage;
  readonly error: Error;
}

/**
 * How often the group is told that this consumer is alive, and offsets are committed, while a run lasts. kafkajs sends
 * a heartbeat only if its own `heartbeatInterval` has passed, so this may be short.
 */
const HEARTBEAT_MS = 1000;

export class PartitionRun {
  readonly #payload: EachBatchPayload;
  readonly #settings: RunSettings;
  readonly #progress = new Contiguous();
  /** The index of the next message for the batcher. */
  #next = 0;
  #inBatcher = 0;
  #failure: Failure | undefined;
  #heartbeatError: unknown;
  #isFeeding = false;
  #isOver = () => {};

  constructor(payload: EachBatchPayload, settings: RunSettings) {
    this.#payload = payload;
    this.#settings = settings;
  }

  /** Resolves when the batcher has no more messages of this run. Rejects if the consumer has left its group. */
  async run(): Promise<Failure | undefined> {
    const over = new Promise<void>((resolve) => {
      this.#isOver = resolve;
    });
    const endHeartbeats = this.#startHeartbeats();
    this.#feed();
    await over;
    await endHeartbeats();
    if (this.#heartbeatError !== undefined) throw this.#heartbeatError;
    return this.#failure;
  }

  /** Fills the window. What is in the batcher is finished in any case. */
  #feed(): void {
    if (this.#isFeeding) return; // the batcher may reject a message before enqueue() returns
    this.#isFeeding = true;
    const { messages } = this.#payload.batch;
    while (this.#inBatcher < this.#settings.window && this.#next < messages.length && this.#mayFeed()) {
      this.#enqueue(this.#next++);
    }
    this.#isFeeding = false;
    if (this.#inBatcher === 0) this.#isOver();
  }

  #mayFeed(): boolean {
    const isStopped = this.#failure !== undefined || this.#heartbeatError !== undefined;
    const isEnding = this.#settings.isClosing() || !this.#payload.isRunning();
    return !isStopped && !isEnding && this.#isValid();
  }

  /** Whether offsets of this run still count: the partition may have been assigned anew, or its offset been set. */
  #isValid(): boolean {
    return this.#settings.isCurrent() && !this.#payload.isStale();
  }

  #enqueue(index: number): void {
    const { topic, partition, messages } = this.#payload.batch;
    const message = messages[index];
    if (message === undefined) return;
    const received = { topic, partition, message };
    this.#inBatcher += 1;
    this.#settings.batcher.enqueue(received, {
      resolve: () => this.#succeeded(index),
      reject: (error) => void this.#failed(index, received, error),
    });
  }

  #succeeded(index: number): void {
    const before = this.#progress.length;
    this.#progress.done(index);
    const { length } = this.#progress;
    const last = this.#payload.batch.messages[length - 1];
    if (length > before && last !== undefined && this.#isValid()) this.#payload.resolveOffset(last.offset);
    this.#left();
  }

  async #failed(index: number, received: ReceivedMessage, error: Error): Promise<void> {
    const { onFailed } = this.#settings;
    if (onFailed === undefined || this.#isGivenUp(error)) return this.#stopAt(received, error);
    try {
      await onFailed(error, received);
    } catch (thrown) {
      return this.#stopAt(received, asError(thrown));
    }
    this.#succeeded(index);
  }

  /** Such a message has not failed: it is delivered again, perhaps to another consumer of the group. */
  #isGivenUp(error: Error): boolean {
    const isClosed = error instanceof BatchwiseError && error.code === 'CLOSED';
    return !this.#isValid() || (isClosed && this.#settings.isClosing());
  }

  #stopAt(received: ReceivedMessage, error: Error): void {
    const first = this.#failure?.received.message.offset;
    if (first === undefined || BigInt(received.message.offset) < BigInt(first))
      this.#failure = { received, error };
    this.#left();
  }

  #left(): void {
    this.#inBatcher -= 1;
    this.#feed();
  }

  /** Gives a function that ends the heartbeats. */
  #startHeartbeats(): () => Promise<void> {
    const { clock } = this.#settings;
    let beating = Promise.resolve();
    let timer: unknown;
    let isEnded = false;
    const schedule = () => {
      timer = clock.setTimer(() => {
        beating = this.#heartbeat().then(() => {
          if (!isEnded && this.#heartbeatError === undefined) schedule();
        });
      }, HEARTBEAT_MS);
    };
    schedule();
    return () => {
      isEnded = true;
      clock.clearTimer(timer);
      return beating;
    };
  }

  async #heartbeat(): Promise<void> {
    const { heartbeat, commitOffsetsIfNecessary, uncommittedOffsets } = this.#payload;
    try {
      if (this.#isValid()) await commitOffsetsIfNecessary(uncommittedOffsets());
      await heartbeat();
    } catch (error) {
      // The group rebalances: no more messages, but those in the batcher are finished and committed.
      this.#heartbeatError = error;
    }
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
