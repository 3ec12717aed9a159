/** Makes everything ready that a process needs for its share of a run; the traffic begins with `start`. */
import type { Clock } from 'batchwise';
import { type Interval, Recorder } from '../statistics/interval.js';
import { type CreateWork, createWork } from './create-work.js';
import type { RunSpec } from './load-run.js';
import { RunPart } from './run-part.js';
import { SelfMonitor } from './self-monitor.js';
import type { Share } from './share.js';

export const DEFAULT_STOP_SECONDS = 5;
const DEFAULT_SEED = 1;

export interface PartEvents {
  readonly onInterval: (interval: Interval) => void;
  /** No more traffic is made; the argument is the time since the start. */
  readonly onStopping: (afterSeconds: number) => void;
  /** With everything closed. */
  readonly onEnded: () => void;
}

export interface PartSetting {
  readonly share: Share;
  readonly clock: Clock;
  readonly create?: CreateWork | undefined;
}

export interface PreparedPart {
  readonly part: RunPart;
  readonly hasShape: boolean;
}

/** @throws {LoadError} */
export async function preparePart(
  spec: RunSpec,
  { share, clock, create = createWork }: PartSetting,
  events: PartEvents,
): Promise<PreparedPart> {
  const { seed = DEFAULT_SEED } = spec;
  const recorder = new Recorder(spec.targetLatencyMs, { keepArrivals: spec.keepArrivals ?? false });
  const { work, shape } = await create(spec, { recorder, clock, share, seed });
  try {
    await work.prepare();
  } catch (error) {
    await work.close();
    throw error;
  }
  const part = new RunPart({
    work,
    recorder,
    shape,
    share,
    clock,
    traffic: spec.traffic,
    seconds: spec.seconds,
    stopSeconds: spec.stopSeconds ?? DEFAULT_STOP_SECONDS,
    seed,
    monitor: new SelfMonitor(clock.now()),
    onInterval: events.onInterval,
    onStopping: events.onStopping,
    onEnded: () => void work.close().then(events.onEnded, events.onEnded),
  });
  return { part, hasShape: shape !== undefined && spec.traffic.kind === 'users' };
}
