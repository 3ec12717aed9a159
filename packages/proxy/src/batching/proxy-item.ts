/** One call: the incoming call, the item in the batcher and the sink for its answer, in one object to save allocations. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type IncomingCall, STATUS } from '@batchwise/grpc';
import type { Sink, Ticket } from 'batchwise';
import type { RoutedItem } from '../backends/backend.js';
import { errorToGrpc } from '../grpc-errors.js';
import type { Tenant } from './tenants.js';

/** The method of an item: it sends the batches and is notified about the items. */
export type ItemMethod = RoutedItem['method'] & {
  /** The message is complete. */
  onMessage(item: ProxyItem): void;
  /** The item was answered. */
  onAnswer(item: ProxyItem, answer: Buffer): void;
  /** Called exactly once per item with the status of the call. */
  onDone(item: ProxyItem, status: number): void;
};

const NO_FRAME = Buffer.alloc(0);

export class ProxyItem implements Sink<Buffer>, RoutedItem {
  readonly method: ItemMethod;
  readonly call: IncomingCall;
  readonly tenant: Tenant;
  readonly arrivedAt: number;
  /** The deadline of the call, on the clock of the proxy. */
  readonly deadline: number;
  /** The message with its gRPC prefix, forwarded unchanged; empty until it is complete. */
  frame: Buffer = NO_FRAME;
  /** The group key: only items of the same group share a batch. */
  group = '';
  /** Queued in the batcher, not yet dispatched. */
  isQueued = false;
  /** Set when the item is in the batcher. */
  ticket: Ticket | undefined = undefined;
  /** The position in its batch. */
  index = 0;
  /** The initial metadata of the backend, once received. */
  answerHeaders: OutgoingHttpHeaders | undefined = undefined;
  isSettled = false;
  #isCancelled = false;

  constructor(method: ItemMethod, call: IncomingCall, tenant: Tenant, arrivedAt: number, deadline: number) {
    this.method = method;
    this.call = call;
    this.tenant = tenant;
    this.arrivedAt = arrivedAt;
    this.deadline = deadline;
  }

  get headers(): IncomingHttpHeaders {
    return this.call.headers;
  }

  /** Reads the message. */
  read(): void {
    this.call.onGone(() => this.#callerGone());
    this.call.readUnary((frame) => {
      this.frame = frame;
      this.method.onMessage(this);
    });
  }

  resolve(frame: Buffer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.call.answer(frame, this.answerHeaders);
    this.method.onAnswer(this, frame);
    this.method.onDone(this, STATUS.OK);
  }

  reject(error: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    if (this.#isCancelled) {
      this.method.onDone(this, STATUS.CANCELLED);
      return;
    }
    const grpcError = errorToGrpc(error);
    // An error has no message, so no encoding.
    const { 'grpc-encoding': _, ...metadata } = this.answerHeaders ?? {};
    this.call.fail(grpcError, metadata);
    this.method.onDone(this, grpcError.status);
  }

  #callerGone(): void {
    this.#isCancelled = true;
    if (this.ticket !== undefined) this.ticket.cancel();
    // The caller cancelled before its message was complete, or the message was invalid.
    else if (!this.isSettled) {
      this.isSettled = true;
      this.method.onDone(this, STATUS.CANCELLED);
    }
  }
}
