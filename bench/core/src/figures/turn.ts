/** The end of a turn by setImmediate, as in the real clock, compared with nextTick and a microtask. */
import { medianOf, pairedRatios } from '@batchwise/bench-harness';
import type { Figure, Row } from '../figure.js';
import type { Turn, TurnResult } from '../jobs/turn-clocks.js';
import { rate } from '../notation.js';

const OTHERS: readonly Turn[] = ['nextTick', 'microtask'];

type Results = Readonly<Record<Turn, readonly TurnResult[]>>;

export const turn: Figure = {
  name: 'turn',
  title: 'Turn: requests/s with the turn ended by setImmediate ÷ by …',

  async measure(rounds, effort) {
    // Five workloads with three variants each: each run gets a part of the time.
    const timing = { warmupMs: effort.warmupMs / 2, timedMs: effort.timedMs / 3 };
    const loop = await rounds.run('turnAlone', byTurn({ callers: 1000, ...timing }));
    const alone = await rounds.run('turnAlone', byTurn({ callers: 1, ...timing }));
    const sockets = { backend: 'other thread', ...timing } as const;
    const oneSlot = await rounds.run('turnSockets', byTurn({ ...sockets, concurrency: 1 }));
    const fourSlots = await rounds.run('turnSockets', byTurn({ ...sockets, concurrency: 4 }));
    const busy = { backend: 'this thread', concurrency: 1, ...timing } as const;
    const onThread = await rounds.run('turnSockets', byTurn(busy));

    const timers = (by: Turn): string =>
      medianOf(loop[by].map((result) => result.timersPerSecond)).toFixed(0);
    return {
      rows: [
        ...rowsOf('1,000 callers in the process', loop),
        ...rowsOf('1 caller in the process', alone),
        ...rowsOf('64 sockets, one backend of 1 ms', oneSlot),
        ...rowsOf('64 sockets, four backends of 1 ms', fourSlots),
        ...rowsOf('64 sockets, 0.3 ms on the thread', onThread),
      ],
      notes: [
        `With 1,000 callers in the process, a timer of 1 ms fired ${timers('setImmediate')} times a second with ` +
          `setImmediate, ${timers('nextTick')} with nextTick, ${timers('microtask')} with a microtask.`,
      ],
      raw: { loop, alone, oneSlot, fourSlots, onThread },
    };
  },
};

function byTurn<Params>(params: Params): Record<Turn, Params & { turn: Turn }> {
  return {
    setImmediate: { ...params, turn: 'setImmediate' },
    nextTick: { ...params, turn: 'nextTick' },
    microtask: { ...params, turn: 'microtask' },
  };
}

function rowsOf(workload: string, results: Results): Row[] {
  const perSecond = (by: Turn): number[] => results[by].map((result) => result.perSecond);
  const inWords = (by: Turn): string => {
    const size = medianOf(results[by].map(({ meanBatchSize }) => meanBatchSize));
    return `${rate(perSecond(by))} in batches of ${size.toFixed(1)}`;
  };
  return OTHERS.map((other) => ({
    label: `${workload}: ${other}`,
    unit: 'ratio',
    samples: pairedRatios(perSecond('setImmediate'), perSecond(other)),
    detail: `${inWords('setImmediate')} ÷ ${inWords(other)}`,
  }));
}
