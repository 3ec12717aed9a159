/**
 * One caller: the call it came by, the item that waits in the batcher, and the sink its answer goes to, in one
 * object, because there may be very many of them.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { type IncomingCall, STATUS } from '@batchwise/grpc';
import type { Sink, Ticket } from 'batchwise';
import { errorToGrpc } from './error-to-grpc.js';
import type { Tenant } from './tenants.js';

/** Whom an item tells how it goes. */
export interface ItemOwner {
  /** Its message is complete: it is to be settled from here on. */
  arrived(item: ProxyItem): void;
  /** It was given this answer. */
  answered(item: ProxyItem, answer: Buffer): void;
  /** Exactly once for each item; `status` is what the caller was told. */
  done(item: ProxyItem, status: number): void;
}

const NOTHING = Buffer.alloc(0);

export class ProxyItem implements Sink<Buffer> {
  readonly call: IncomingCall;
  readonly tenant: Tenant;
  readonly arrivedAt: number;
  /** The moment after which its answer is worthless, on the proxy's clock. */
  readonly deadline: number;
  /** The message with its prefix, to be sent as it came; empty until it is complete. */
  frame: Buffer = NOTHING;
  /** What it has in common with those it may share a batch with. */
  group = '';
  /** In the batcher, and in no batch yet. */
  isWaiting = false;
  /** Set once it is in the batcher. */
  ticket: Ticket | undefined = undefined;
  /** Its place in its batch. */
  index = 0;
  /** The backend's initial metadata, once that is known. */
  answerHeaders: OutgoingHttpHeaders | undefined = undefined;
  isSettled = false;
  readonly #owner: ItemOwner;
  #isGone = false;

  constructor(owner: ItemOwner, call: IncomingCall, tenant: Tenant, arrivedAt: number, deadline: number) {
    this.#owner = owner;
    this.call = call;
    this.tenant = tenant;
    this.arrivedAt = arrivedAt;
    this.deadline = deadline;
  }

  get headers(): IncomingHttpHeaders {
    return this.call.headers;
  }

  /** Waits for the message. */
  read(): void {
    this.call.onGone(() => this.#gone());
    this.call.readUnary((frame) => {
      this.frame = frame;
      this.#owner.arrived(this);
    });
  }

  resolve(frame: Buffer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.call.answer(frame, this.answerHeaders);
    this.#owner.answered(this, frame);
    this.#owner.done(this, STATUS.OK);
  }

  reject(error: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    if (this.#isGone) {
      this.#owner.done(this, STATUS.CANCELLED);
      return;
    }
    const told = errorToGrpc(error);
    // How messages are encoded says nothing where there is none.
    const { 'grpc-encoding': _, ...metadata } = this.answerHeaders ?? {};
    this.call.fail(told, metadata);
    this.#owner.done(this, told.status);
  }

  #gone(): void {
    this.#isGone = true;
    if (this.ticket !== undefined) this.ticket.cancel();
    // Gone while its message was on its way, or the message was none.
    else if (!this.isSettled) {
      this.isSettled = true;
      this.#owner.done(this, STATUS.CANCELLED);
    }
  }
}
