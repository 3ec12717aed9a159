/** The least that listening to a signal of one's own can cost: make it, listen, stop listening. */
import { CALLERS } from './closed-loop.js';
import { Meter, type Metered, type Timing } from './meter.js';

/** All three at once: the signal is garbage before the next is made. */
export function bareSignalLoop(timing: Timing): Promise<Metered> {
  const meter = new Meter(timing);
  do listen().stop();
  while (meter.tick());
  return meter.done;
}

/** Listens for as long as a call on the closed loop takes: as many signals are alive as there are callers. */
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
    throw new Error('nobody aborts here');
  }
}
