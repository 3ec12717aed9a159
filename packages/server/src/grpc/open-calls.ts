/**
 * The calls that have begun and not ended, of every method: who counts them is told of each, one that
 * takes too long to arrive is turned away, and at the end those that are left can be answered.
 */
import { type ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js';
import type { Clock } from 'batchwise';
import { RequestError } from '../request-error.js';
import type { GrpcLimits } from './grpc-limits.js';
import { grpcStatus } from './grpc-status.js';
import { limitReceiving, type ReceivingCall } from './received-messages.js';

export interface CallHooks {
  /** `method` is one of ours, such as `inference.GRPCInferenceService/ModelInfer`. */
  started(method: string): void;
  /** `statusName` is gRPC's: `OK`, `INVALID_ARGUMENT`. */
  ended(method: string, statusName: string, ms: number): void;
}

type InterceptedCall = Parameters<ServerInterceptor>[1];

interface OpenCall {
  readonly method: string;
  readonly isConversation: boolean;
  readonly startedAt: number;
  readonly call: InterceptedCall;
  /** Messages that are on their way out. */
  leaving: number;
}

export class OpenCalls {
  readonly #hooks: CallHooks | undefined;
  readonly #clock: Clock;
  readonly #receiveTimeoutMs: number;
  readonly #messageBytes: number;
  readonly #open = new Set<OpenCall>();
  /** Those whose request has not come whole, the oldest first. */
  readonly #arriving = new Set<OpenCall>();
  #arrivalTimer: unknown;

  constructor(
    clock: Clock,
    { receiveTimeoutMs, messageBytes }: Pick<GrpcLimits, 'receiveTimeoutMs' | 'messageBytes'>,
    hooks: CallHooks | undefined,
  ) {
    this.#clock = clock;
    this.#receiveTimeoutMs = receiveTimeoutMs;
    this.#messageBytes = messageBytes;
    this.#hooks = hooks;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Watches a call by taking the place of some of its own methods. grpc-js ends calls by itself (a message
   * too large, a deadline, bytes that cannot be read) past anything that an interceptor puts around it.
   */
  readonly intercept: ServerInterceptor = (definition, call) => {
    const opened: OpenCall = {
      method: definition.path.slice(1),
      isConversation: definition.requestStream,
      startedAt: this.#clock.now(),
      call,
      leaving: 0,
    };
    const start = call.start.bind(call);
    const sendStatus = call.sendStatus.bind(call);
    call.start = (listener) => {
      start({
        onReceiveMetadata: (metadata) => {
          this.#begin(opened);
          listener.onReceiveMetadata(metadata);
        },
        onReceiveMessage: (message) => {
          if (opened.isConversation) this.#arriving.delete(opened);
          listener.onReceiveMessage(message);
        },
        onReceiveHalfClose: () => {
          this.#arriving.delete(opened);
          listener.onReceiveHalfClose();
        },
        // Comes at the end of every call; only those that had no status by then were given up.
        onCancel: () => {
          this.#end(opened, status.CANCELLED);
          listener.onCancel();
        },
      });
    };
    call.sendStatus = (answer) => {
      this.#end(opened, answer.code ?? status.UNKNOWN);
      sendStatus(answer);
    };
    const limits = { messageBytes: this.#messageBytes, isUnary: !opened.isConversation };
    limitReceiving(call as ReceivingCall, limits);
    if (opened.isConversation) readAsAnswersLeave(opened);
    // The interface is all that grpc-js uses of what an interceptor returns.
    return call as unknown as ServerInterceptingCall;
  };

  /** Those that last as long as the client likes, as reflection's, and in which nothing is being said. */
  endSilent(error: RequestError): void {
    this.#endWith(error, ({ isConversation, leaving }) => isConversation && leaving === 0);
  }

  /** Returns how many there were. */
  endAll(error: RequestError): number {
    return this.#endWith(error, () => true);
  }

  /** No timer is left behind. */
  stop(): void {
    this.#clock.clearTimer(this.#arrivalTimer);
    this.#arrivalTimer = undefined;
    this.#arriving.clear();
  }

  #endWith(error: RequestError, which: (open: OpenCall) => boolean): number {
    const chosen = [...this.#open].filter(which);
    for (const { call } of chosen) call.sendStatus(grpcStatus(error));
    return chosen.length;
  }

  #begin(opened: OpenCall): void {
    this.#open.add(opened);
    this.#hooks?.started(opened.method);
    if (this.#receiveTimeoutMs === 0) return;
    this.#arriving.add(opened);
    if (this.#arrivalTimer === undefined) this.#watchArrivals(this.#receiveTimeoutMs);
  }

  #end(opened: OpenCall, code: status): void {
    if (!this.#open.delete(opened)) return;
    this.#arriving.delete(opened);
    this.#hooks?.ended(opened.method, status[code] ?? 'UNKNOWN', this.#clock.now() - opened.startedAt);
  }

  /** One timer for all of them: it is left running when they arrive, and finds out when it fires. */
  #watchArrivals(delayMs: number): void {
    this.#arrivalTimer = this.#clock.setTimer(() => {
      this.#arrivalTimer = undefined;
      const now = this.#clock.now();
      for (const opened of this.#arriving) {
        const leftMs = opened.startedAt + this.#receiveTimeoutMs - now;
        if (leftMs > 0) return this.#watchArrivals(leftMs);
        const error = new RequestError(
          'REQUEST_TIMEOUT',
          `The request was not complete after ${this.#receiveTimeoutMs} ms.`,
        );
        opened.call.sendStatus(grpcStatus(error));
      }
    }, delayMs);
  }
}

/**
 * Counts the answers that have yet to be written: to end a call under one of them would leave its stream hanging. And
 * reads the next message when they are written: answers are larger than questions, and the client may not read them.
 */
function readAsAnswersLeave(opened: OpenCall): void {
  const { call } = opened;
  const sendMessage = call.sendMessage.bind(call);
  const startRead = call.startRead.bind(call);
  let isHeldBack = false;
  call.startRead = () => {
    isHeldBack = opened.leaving > 0;
    if (!isHeldBack) startRead();
  };
  call.sendMessage = (message, callback) => {
    opened.leaving++;
    sendMessage(message, () => {
      opened.leaving--;
      callback();
      if (isHeldBack) call.startRead();
    });
  };
}
