/** The minimal use of an AbortSignal: create it, add a listener, remove the listener. */
import { CALLERS } from './closed-loop.js';
import { Meter, type Metered, type Timing } from './meter.js';

/** One signal at a time: each is garbage before the next is created. */
export function bareSignalLoop(timing: Timing): Promise<Metered> {
  const meter = new Meter(timing);
  do listen().stop();
  while (meter.tick());
  return meter.done;
}

/** Listens as long as a call in the closed loop takes: as many signals are alive as there are callers. */
export function keptSignalLoop(timing: Timing): Promise<Metered> {
  const meter = new Meter(timing);
  const listening = Array.from({ length: CALLERS }, listen);
  let oldest = 0;
  do {
    listening[oldest]?.stop();
    listening[oldest] = listen();
    oldest = (oldest + 1) % CALLERS;
  } while (meter.tick());
  return meter.done;
}

function listen(): Listening {
  const { signal } = new AbortController();
  const listening = new Listening(signal);
  signal.addEventListener('abort', listening);
  return listening;
}

class Listening {
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  stop(): void {
    this.#signal.removeEventListener('abort', this);
  }

  handleEvent(): void {
    throw new Error('unexpected abort');
  }
}
