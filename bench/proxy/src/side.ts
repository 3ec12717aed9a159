/** What a forked process and the one that forked it say to each other. */
import type { DeviceReport } from './backends/device.js';
import type { LoadReport } from './load.js';

export type FromSide =
  /** A server: listening at this port. A client: connected. */
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'heated' }
  /** A client's warm-up is over. */
  | { readonly type: 'timed' }
  | { readonly type: 'cpu'; readonly ms: number }
  | { readonly type: 'load'; readonly report: LoadReport }
  | { readonly type: 'device'; readonly report: DeviceReport };

/**
 * `heat`: a client asks as fast as it can, for code that has been compiled. `begin`: a client begins its load, a
 * backend's device takes its time and begins to count.
 */
export type ToSide = 'heat' | 'begin' | 'cpu' | 'report' | 'stop';

export function tell(message: FromSide): void {
  process.send?.(message);
}

/** Answers for its CPU time and ends when told; the rest is the side's own. */
export function listen(on: Partial<Record<Exclude<ToSide, 'cpu'>, () => void>>): void {
  process.on('message', (message: ToSide) => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage();
      tell({ type: 'cpu', ms: (user + system) / 1000 });
    } else if (message === 'stop') (on.stop ?? (() => process.exit(0)))();
    else on[message]?.();
  });
  // Whoever forked it is gone.
  process.on('disconnect', () => process.exit(0));
}
