/** Targets and their resolution by DNS. */
import { VirtualClock } from 'batchwise';
import { describe, expect, it } from 'vitest';
import { parseTarget, type ResolvedTarget, TargetResolver } from '../src/backends/targets.js';

function resolving(...texts: string[]) {
  const clock = new VirtualClock();
  const names = new Map<string, readonly string[] | Error>();
  const found: (readonly ResolvedTarget[])[] = [];
  const errors: (Error | undefined)[] = [];
  const log: string[] = [];
  const resolver = new TargetResolver(
    texts.map((text) => parseTarget('target', text)),
    {
      clock,
      log: (line) => log.push(line),
      onTargets: (targets, error) => {
        found.push(targets);
        errors.push(error);
      },
      lookup: async (name) => {
        const addresses = names.get(name) ?? [];
        if (addresses instanceof Error) throw addresses;
        return addresses;
      },
    },
  );
  const latest = () => found.at(-1)?.map(({ target }) => target);
  return { clock, names, resolver, found, errors, log, latest };
}

describe('targets', () => {
  it('that are addresses need no DNS lookup', async () => {
    const { resolver, latest, clock } = resolving('a:1', 'unix:/x');
    await resolver.start();
    expect(latest()).toEqual(['a:1', 'unix:/x']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('that are DNS names resolve to all addresses and keep the name for certificates', async () => {
    const { resolver, names, found } = resolving('dns:///model:50051');
    names.set('model', ['10.0.0.1', 'fd00::1']);
    await resolver.start();
    const named = { authority: 'model:50051', serverName: 'model' };
    expect(found).toEqual([
      [
        { target: '10.0.0.1:50051', ...named },
        { target: '[fd00::1]:50051', ...named },
      ],
    ]);
    resolver.stop();
  });

  it('are resolved again and follow changes', async () => {
    const { resolver, names, latest, clock } = resolving('dns:///model:1', 'b:2');
    names.set('model', ['10.0.0.1']);
    await resolver.start();
    names.set('model', ['10.0.0.2', '10.0.0.3']);
    await clock.advance(30_000);
    expect(latest()).toEqual(['10.0.0.2:1', '10.0.0.3:1', 'b:2']);
    resolver.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('keep the last addresses while the lookup fails, and it is retried sooner', async () => {
    const { resolver, names, latest, errors, log, clock } = resolving('dns:///model:1');
    names.set('model', ['10.0.0.1']);
    await resolver.start();
    names.set('model', new Error('EAI_AGAIN'));
    await clock.advance(30_000);
    expect(latest()).toEqual(['10.0.0.1:1']);
    expect(errors.at(-1)?.message).toBe('dns:///model:1 cannot be looked up: EAI_AGAIN');
    await clock.advance(9000);
    expect(log).toEqual(['dns:///model:1 cannot be looked up: EAI_AGAIN']);
    names.set('model', ['10.0.0.9']);
    await clock.advance(3000);
    expect(latest()).toEqual(['10.0.0.9:1']);
    expect(errors.at(-1)).toBeUndefined();
    resolver.stop();
  });

  it('are empty until the first lookup succeeds', async () => {
    const { resolver, names, latest, errors } = resolving('dns:///model:1');
    names.set('model', []);
    await resolver.start();
    expect(latest()).toEqual([]);
    expect(errors[0]?.message).toMatch(/the name has no address/);
    resolver.stop();
  });
});
