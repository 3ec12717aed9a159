/** The messages between a forked process and its parent. */
import type { DeviceReport } from './backends/device.js';
import type { LoadReport } from './load.js';

export type FromSide =
  /** A server listens at this port; a client is connected. */
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'heated' }
  /** The warm-up of a client has ended. */
  | { readonly type: 'timed' }
  | { readonly type: 'cpu'; readonly ms: number }
  | { readonly type: 'load'; readonly report: LoadReport }
  | { readonly type: 'device'; readonly report: DeviceReport };

/**
 * `heat`: a client sends requests in a closed loop, so that V8 compiles the code. `begin`: a client begins its load; the
 * device of a backend takes the durations of its curve from now on, and begins to count.
 */
export type ToSide = 'heat' | 'begin' | 'cpu' | 'report' | 'stop';

export function send(message: FromSide): void {
  process.send?.(message);
}

/** Handles the messages of the parent: replies to `cpu`, ends on `stop`, and calls `on` for the others. */
export function listen(on: Partial<Record<Exclude<ToSide, 'cpu'>, () => void>>): void {
  process.on('message', (message: ToSide) => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage();
      send({ type: 'cpu', ms: (user + system) / 1000 });
    } else if (message === 'stop') (on.stop ?? (() => process.exit(0)))();
    else on[message]?.();
  });
  // The parent process has ended.
  process.on('disconnect', () => process.exit(0));
}
