import { join } from 'node:path';
import { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RunnerHost } from '../../src/processes/runner-host.js';
import { type GatedCall, GatedRunner, SETTINGS } from './support/gated-runner.js';
import { RecordingSink } from './support/recording-sink.js';
import { remoteTo, socketFolder } from './support/stage.js';
import { turns, until } from './support/until.js';

type Step =
  | { readonly does: 'call' | 'cancel' | 'answer' | 'fail' | 'turn'; readonly which: number }
  | { readonly does: 'lose' | 'come back'; readonly which: 0 | 1 };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('call' as const), which: fc.nat(2) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom('cancel' as const, 'answer' as const, 'fail' as const, 'turn' as const),
      which: fc.nat(50),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom('lose' as const, 'come back' as const),
      which: fc.constantFrom(0 as const, 1 as const),
    }),
  },
);

/** A replica that comes and goes, and whose calls are answered in any order, late ones too. */
class Place {
  readonly socket: string;
  readonly calls: GatedCall[] = [];
  #host: RunnerHost | undefined;

  constructor(socket: string) {
    this.socket = socket;
  }

  async comeBack(): Promise<void> {
    if (this.#host !== undefined) return;
    const runner = new GatedRunner();
    runner.onCall = (call) => {
      if (call.item === 2) throw new Error('thrown');
      this.calls.push(call);
      if (call.item === 1) call.answer('at once');
    };
    this.#host = new RunnerHost();
    this.#host.add(runner, SETTINGS);
    await this.#host.listen(this.socket);
  }

  async lose(): Promise<void> {
    const host = this.#host;
    this.#host = undefined;
    await host?.close();
  }
}

test('every call is settled exactly once, whatever comes, goes and is answered when', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const folder = socketFolder();
      const places = [new Place(join(folder, '0.sock')), new Place(join(folder, '1.sock'))] as const;
      await Promise.all(places.map((place) => place.comeBack()));
      const remote = remoteTo(places.map(({ socket }) => socket));
      await remote.ready;
      const sinks: RecordingSink[] = [];
      const tickets: { cancel(): void }[] = [];
      const pick = (which: number) => {
        const calls = places.flatMap((place) => place.calls);
        return calls[which % Math.max(1, calls.length)];
      };
      for (const { does, which } of steps) {
        if (does === 'call') {
          const sink = new RecordingSink();
          sinks.push(sink);
          tickets.push(remote.enqueue(which, sink));
        } else if (does === 'cancel') tickets[which % Math.max(1, tickets.length)]?.cancel();
        else if (does === 'answer') pick(which)?.answer('later');
        else if (does === 'fail') pick(which)?.fail(new BatchwiseError('HANDLER_FAILED', 'failed'));
        else if (does === 'turn') await turns(which % 4);
        else if (does === 'lose') await places[which]?.lose();
        else await places[which]?.comeBack();
      }
      await turns(3);
      for (const place of places) for (const call of place.calls) call.answer('last');
      for (const place of places) await place.lose();
      await until(() => sinks.every(({ settled }) => settled > 0));
      await turns(3);
      expect(sinks.filter(({ settled }) => settled !== 1)).toEqual([]);
      const fates = ['ok', 'UNAVAILABLE', 'CANCELLED', 'HANDLER_FAILED', 'thrown'];
      for (const { fate } of sinks) expect(fates).toContain(fate);
      await remote.close();
    }),
    { numRuns: 60 },
  );
});
