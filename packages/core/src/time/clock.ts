import { validMethods } from '../errors/valid.js';

/**
 * Time, injected. Nothing else in this package reads a clock or sets a timer, so that a test, or the
 * simulator, runs hours of traffic in milliseconds.
 */
export interface Clock {
  /** Milliseconds on a monotonic clock. */
  now(): number;
  /** Calls back once, `delayMs` from now. */
  setTimer(callback: () => void, delayMs: number): unknown;
  clearTimer(timer: unknown): void;
  /**
   * Calls back at the end of the current event-loop turn, after the callbacks of all sockets that were
   * ready. Not a microtask, which runs after the callback of each socket.
   */
  defer(callback: () => void): void;
  /** Resolution of its timers; 0 or undefined when they are exact. No shorter delay is set. */
  readonly timerResolutionMs?: number;
}

export function validClock(name: string, value: unknown): Clock {
  return validMethods(name, value, ['now', 'setTimer', 'clearTimer', 'defer']);
}

/** More than the rounding error of a sum of times: what is due at a time is not late by that. */
export const ROUNDING_MS = 1e-6;

/** The longest delay that `setTimeout` takes; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => performance.now(),
  // Rounded up, because timers count whole milliseconds, and a timer that fires early has to be set again.
  setTimer: (callback, delayMs) => setTimeout(callback, Math.min(Math.ceil(delayMs), MAX_DELAY_MS)),
  clearTimer: (timer) => clearTimeout(timer as number),
  defer: endOfTurn(),
  timerResolutionMs: 1,
};

function endOfTurn(): (callback: () => void) => void {
  const { setImmediate } = globalThis as { setImmediate?: ((callback: () => void) => void) | null };
  if (typeof setImmediate === 'function') return (callback) => setImmediate(callback);

  // Browsers: a message is a task of its own, without the 4 ms delay of nested timeouts.
  const waiting: (() => void)[] = [];
  let channel: MessageChannel | undefined;
  return (callback) => {
    if (channel === undefined) {
      channel = new MessageChannel();
      channel.port1.onmessage = () => waiting.shift()?.();
    }
    waiting.push(callback);
    channel.port2.postMessage(undefined);
  };
}
