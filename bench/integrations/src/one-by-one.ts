/** One call per item beside the batcher, on the same service: closed loops of callers, alternating. */
import {
  type Figure,
  medianText,
  nowMs,
  pairedRatios,
  spreadText,
  takeTurns,
} from '@batchwise/bench-harness';

export interface Contenders {
  /** One item with one call of the service, as code without Batchwise does it. */
  single(index: number): Promise<unknown>;
  /** The same item through the batcher. */
  batched(index: number): Promise<unknown>;
  close(): Promise<void>;
}

export interface Comparison {
  /** As `--only` knows it. */
  readonly name: string;
  /** What one item is: `insert of one row`. */
  readonly item: string;
  /** @default 64 */
  readonly callers?: number;
  readonly notes?: readonly string[];
  start(): Promise<Contenders>;
}

const CALLERS = 64;

export function oneByOne({ name, item, callers = CALLERS, notes = [], start }: Comparison): Figure {
  return {
    name,
    title: `${item}, ${callers} callers: batched ÷ one by one`,
    async measure({ rounds, warmupMs, timedMs }, say) {
      const service = await start();
      try {
        const perSecond = async (call: (index: number) => Promise<unknown>) => {
          await closedLoop(call, callers, warmupMs);
          return closedLoop(call, callers, timedMs);
        };
        const raw = await takeTurns(
          {
            'one by one': () => perSecond((index) => service.single(index)),
            batched: () => perSecond((index) => service.batched(index)),
          },
          rounds,
          say,
        );
        const rows = Object.entries(raw).map(([way, rates]) => [
          way,
          medianText(rates, 0),
          spreadText(rates, 0),
        ]);
        const samples = pairedRatios(raw.batched, raw['one by one']);
        return {
          tables: [{ head: [item, 'per second', 'min–max'], rows }],
          verdicts: [{ label: 'batched ÷ one by one', samples, digits: 1 }],
          notes,
          raw,
        };
      } finally {
        await service.close();
      }
    },
  };
}

/** Calls per second. */
async function closedLoop(
  call: (index: number) => Promise<unknown>,
  callers: number,
  forMs: number,
): Promise<number> {
  const startedAt = nowMs();
  const endAt = startedAt + forMs;
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (nowMs() < endAt) await call(next++);
    }),
  );
  return (1000 * next) / (nowMs() - startedAt);
}
