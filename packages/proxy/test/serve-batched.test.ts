/** The implementation that `serveBatched()` creates for a definition, and the errors at start. */
import type { MethodDefinition } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import type { ServeBatchedOptions } from '../src/serve-batched/batched-options.js';
import { serveBatched } from '../src/serve-batched/serve-batched.js';
import { definition, double } from './support/batched-calls.js';

describe('serves', () => {
  test('the streaming and the unary method under the names of the definition', () => {
    expect(Object.keys(serveBatched(definition, { compute: double }))).toEqual(['BatchedCompute', 'Compute']);
    expect(Object.keys(serveBatched(definition, { Compute: double }))).toEqual(['BatchedCompute', 'Compute']);
  });

  test('definitions with lower-case names', () => {
    const { Compute, BatchedCompute } = definition as Record<string, MethodDefinition<number, number>>;
    if (Compute === undefined || BatchedCompute === undefined) throw new Error('expected both');
    const served = serveBatched({ compute: Compute, batchedCompute: BatchedCompute }, { compute: double });
    expect(Object.keys(served)).toEqual(['batchedCompute', 'compute']);
  });

  test('a streaming method with any name', () => {
    const served = serveBatched(definition, { embed: double }, { batched: { embed: 'EmbedMany' } });
    expect(Object.keys(served)).toEqual(['EmbedMany', 'Embed']);
  });

  test('a unary method in `others`, in any case of its name', () => {
    const own = () => {};
    const served = serveBatched(definition, { compute: double }, { others: { compute: own, watch: own } });
    expect(served).toMatchObject({ Compute: own, Watch: own });
    expect(served.BatchedCompute).not.toBe(own);
  });
});

describe('rejects at start', () => {
  const cases: [string, () => unknown, RegExp][] = [
    [
      'an unknown method',
      () => serveBatched(definition, { compue: double }),
      /no method BatchedCompue.*Compute, BatchedCompute/,
    ],
    [
      'a missing streaming method',
      () => serveBatched(definition, { embed: double }),
      /test\.Inference has no method BatchedEmbed.*batched: \{ embed: '…' \}/,
    ],
    [
      'a streaming method that streams one way',
      () => serveBatched(definition, { rank: double }),
      /BatchedRank is client-streaming: expected a bidirectional streaming method/,
    ],
    [
      'a method that is not unary',
      () => serveBatched(definition, { watch: double }),
      /Watch, which is server-streaming: expected a unary method/,
    ],
    [
      'the streaming method in place of the unary one',
      () => serveBatched(definition, { batchedCompute: double }),
      /bidirectional streaming: expected a unary method/,
    ],
    ['no method', () => serveBatched(definition, {}), /Expected a method to serve/],
    [
      'a value that is not a function',
      () => serveBatched(definition, { compute: 5 as never }),
      /"compute": expected a function.*got 5/,
    ],
    [
      'a mapping of a method that is not served',
      () => serveBatched(definition, { compute: double }, { batched: { embed: 'EmbedMany' } }),
      /batched: expected one of .*compute.*got "embed"/,
    ],
    [
      'an implementation of an unknown method',
      () => serveBatched(definition, { compute: double }, { others: { wach: () => {} } }),
      /others: .*no method "wach"/,
    ],
    [
      'an unknown option',
      () => serveBatched(definition, { compute: double }, { maxItem: 3 } as ServeBatchedOptions),
      /unknown option "maxItem".*maxItems/,
    ],
    [
      'an invalid limit',
      () => serveBatched(definition, { compute: double }, { maxItems: 0 }),
      /maxItems: expected a number above 0, got 0/,
    ],
    [
      'a hook that is not a function',
      () => serveBatched(definition, { compute: double }, { onItem: true as never }),
      /onItem: expected a function, got true/,
    ],
  ];

  test.each(cases)('%s', (_, serve, message) => {
    expect(serve).toThrow(message);
    expect(serve).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
