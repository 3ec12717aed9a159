/** The module of a child process: one share of a run, driven by messages. */
import { realClock } from 'batchwise';
import { LoadError } from '../load-error.js';
import { encodeInterval } from '../statistics/interval.js';
import { preparePart } from './prepare-part.js';
import type { FromChild, ToChild } from './process-message.js';
import type { RunPart } from './run-part.js';

/** Wall clocks that differ by more than this between two processes of a machine have been set in between. */
const MOST_CLOCK_ERROR_MS = 1000;

let part: RunPart | undefined;

// Ctrl-C in a terminal goes to all processes of a command. The parent stops the run, and reports it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.on('disconnect', () => process.exit(1));
process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'prepare':
      void prepare(message);
      break;
    case 'start':
      startAt(message.atEpochMs - performance.timeOrigin);
      break;
    case 'users':
      part?.setUsers(message.users, message.spawnRate);
      break;
    case 'stop':
      part?.stop();
      break;
  }
});

async function prepare({ spec, share }: Extract<ToChild, { kind: 'prepare' }>): Promise<void> {
  try {
    const prepared = await preparePart(
      spec,
      { share, clock: realClock },
      {
        onInterval: (interval) => tell({ kind: 'interval', interval: encodeInterval(interval) }),
        onStopping: (afterSeconds) => tell({ kind: 'stopping', afterSeconds }),
        onEnded: () => tell({ kind: 'ended' }, () => process.exit(0)),
      },
    );
    part = prepared.part;
    tell({ kind: 'ready', hasShape: prepared.hasShape });
  } catch (error) {
    const code = error instanceof LoadError ? error.code : undefined;
    tell({ kind: 'refused', code, message: error instanceof Error ? error.message : String(error) }, () =>
      process.exit(1),
    );
  }
}

function startAt(at: number): void {
  const now = realClock.now();
  const start = Math.abs(at - now) > MOST_CLOCK_ERROR_MS ? now : at;
  realClock.setTimer(() => part?.start(Math.min(start, realClock.now())), Math.max(0, start - now));
}

function tell(message: FromChild, sent?: () => void): void {
  // With a callback, a channel that is closed is reported to it and not thrown.
  process.send?.(message, undefined, undefined, () => sent?.());
}
