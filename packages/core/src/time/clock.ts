/**
 * Time, injected. Nothing else in this package reads a clock or sets a timer, which is what lets a
 * test, or the simulator, run hours of traffic in milliseconds.
 */
export interface Clock {
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  /** Calls back once, `delayMs` from now. */
  setTimer(callback: () => void, delayMs: number): unknown;
  clearTimer(timer: unknown): void;
  /**
   * Calls back at the end of the current event-loop turn, when everything that one poll of the
   * sockets brought in has been submitted. Not a microtask: those run after each socket's callback.
   */
  defer(callback: () => void): void;
  /** How fine its timers are; 0, or nothing, when they are exact. A shorter wait is not worth asking for. */
  readonly timerResolutionMs?: number;
}

/** The longest delay that `setTimeout` takes; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => performance.now(),
  // Rounded up, because timers count whole milliseconds and one that fires early only has to be set again.
  setTimer: (callback, delayMs) => setTimeout(callback, Math.min(Math.ceil(delayMs), MAX_DELAY_MS)),
  clearTimer: (timer) => clearTimeout(timer as number),
  defer: endOfTurn(),
  timerResolutionMs: 1,
};

function endOfTurn(): (callback: () => void) => void {
  const { setImmediate } = globalThis as { setImmediate?: ((callback: () => void) => void) | null };
  if (typeof setImmediate === 'function') return (callback) => setImmediate(callback);

  // Browsers: a message to oneself is a task of its own, without the 4 ms that nested timeouts cost.
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
