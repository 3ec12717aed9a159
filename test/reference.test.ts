/** The reference pages name every field of the types that they describe, and no other option of a batcher. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

/** Page, source file, and the interfaces and classes whose members the page describes. */
const DESCRIBED: readonly (readonly [page: string, source: string, ...types: string[]])[] = [
  ['options', 'core/src/options/options.ts', 'LiveOptions', 'BatcherOptions', 'BackendOptions'],
  ['options', 'core/src/options/call-options.ts', 'EnqueueOptions', 'SubmitOptions'],
  ['options', 'core/src/policy/adaptive-policy.ts', 'AdaptiveOptions'],
  ['options', 'core/src/policy/window-policy.ts', 'WindowOptions'],
  ['batcher', 'core/src/batcher.ts', 'Batcher', 'BatchedFunction', 'CloseOptions'],
  ['batcher', 'core/src/async-batcher.ts', 'AsyncBatcherOptions', 'AsyncBatcher', 'StopOptions'],
  ['batcher', 'core/src/batch/handler.ts', 'BatchContext', 'HandlerObject'],
  ['batcher', 'core/src/backends/backend.ts', 'Backend'],
  ['batcher', 'core/src/backends/backend-set.ts', 'BackendSetOptions'],
  ['batcher', 'core/src/queue/entry.ts', 'Sink', 'Ticket'],
  ['stats', 'core/src/dispatch/stats.ts', 'BatcherStats'],
  ['stats', 'core/src/backends/backend-set.ts', 'BackendStats'],
  ['diagnostics', 'core/src/batch/diagnostics.ts', 'BatchRecord'],
  ['clock', 'core/src/time/clock.ts', 'Clock'],
  ['clock', 'core/src/time/virtual-clock.ts', 'VirtualClock'],
  [
    'policy',
    'core/src/policy/policy.ts',
    ...['Policy', 'QueueView', 'Limits', 'RunningWork', 'BackendView', 'WaitingGroup'],
    ...['Dispatch', 'Wait', 'Reject', 'CompletedBatch'],
  ],
  ['policy', 'core/src/learning/service-curve.ts', 'ServiceCurve'],
  ['policy', 'core/src/learning/traffic.ts', 'Traffic'],
  ['redis', 'redis/src/connection/connection-options.ts', 'ConnectionOptions'],
  ['redis', 'redis/src/connection/tls-options.ts', 'TlsOptions'],
  ['redis', 'redis/src/redis-options.ts', 'QueueOptions', 'RedisBatcherOptions', 'RedisProcessorOptions'],
  ['redis', 'redis/src/redis-processor.ts', 'RedisProcessor'],
  ['redis', 'redis/src/processor-report.ts', 'ProcessorStats'],
  ['redis', 'redis/src/redis-queue.ts', 'RedisQueue', 'DeadLettersOptions', 'LettersOutcome'],
  ['redis', 'redis/src/queue-status.ts', 'LevelStatus', 'QueueStatus', 'ProcessorStatus'],
  ['redis', 'redis/src/dead-letter.ts', 'DeadLetter'],
];

/** What a policy does not see of the learned values: `CurveEstimate` and `TrafficEstimate` leave it out. */
const HIDDEN = ['record', 'recordAtLeast', 'copy', 'padTo', 'padded', 'largestCost', 'arrived', 'batchEnded'];

/** The names of the members of a type, at its first level. */
function membersOf(source: string, type: string): string[] {
  const [, body = ''] =
    new RegExp(`^(?:export )?(?:abstract )?(?:interface|class) ${type}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(
      source,
    ) ?? [];
  const names = [...body.matchAll(/^ {2}(?:(?:readonly|get|async|abstract|static) )*(\w+)\??[(:<]/gm)];
  const fields = [...body.matchAll(/^ {2}(?:readonly )?(\w+) = /gm)];
  const all = [...names, ...fields].map(([, name = '']) => name);
  return [...new Set(all)].filter((name) => name !== 'constructor' && !HIDDEN.includes(name));
}

/** What the page has between backticks: in a line, or in a block. */
function codeOf(page: string): string {
  return [...page.matchAll(/^```.*?^```$|`[^`\n]+`/gms)].map(([code]) => code).join('\n');
}

describe.each(DESCRIBED)('docs/reference/%s.md and %s', (page, source, ...types) => {
  const code = codeOf(read(`docs/reference/${page}.md`));
  test.each(types)('%s: every member is on the page', (type) => {
    const members = membersOf(read(`packages/${source}`), type);
    expect(members).not.toEqual([]);
    expect(members.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });
});

test('every option in the tables of docs/reference/options.md exists', () => {
  const source = ['options.ts', 'call-options.ts']
    .map((file) => read(`packages/core/src/options/${file}`))
    .join('\n');
  const known = [
    'LiveOptions',
    'BatcherOptions',
    'BackendOptions',
    'EnqueueOptions',
    'SubmitOptions',
  ].flatMap((type) => membersOf(source, type));
  const tables = read('docs/reference/options.md').replace(/^## Policies.*?^## /ms, '');
  const cells = [...tables.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([]);
});
