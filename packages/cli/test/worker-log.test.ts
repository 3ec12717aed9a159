import type { ProcessorNotice } from '@batchwise/redis';
import { type BatchRecord, greedy } from 'batchwise';
import { expect, test } from 'vitest';
import { WorkerLog, type WorkerLogOptions } from '../src/worker/worker-log.js';
import { fakeTerminal } from './support/fake-terminal.js';

function log(options: Partial<WorkerLogOptions> = {}) {
  const terminal = fakeTerminal();
  const defaults: WorkerLogOptions = {
    queue: 'q',
    maxBatchSize: 64,
    maxDeliveries: 3,
    rule: { kind: 'window', seconds: 2 },
    verbose: false,
    quiet: false,
  };
  return { log: new WorkerLog(terminal, { ...defaults, ...options }), written: terminal.written };
}

const batch = { cost: 64, reason: 'full' } as const;
const record = { size: 3, succeeded: 2, failed: 1, durationMs: 12.34, error: undefined } as BatchRecord;

test('with a window the lines have the format of dynamic_batcher', () => {
  const { log: lines, written } = log();
  lines.started();
  lines.batchStarts({ ...batch, oldestWaitMs: 64.2 });
  lines.batchEnded(record);
  expect(written.stdout).toBe(
    'BatchProcessor start: delay=0.001, batch_size=64 batch_time=2\nbatch start: 0.064/2, 64/64\n',
  );
});

test('a window has no trailing zeros', () => {
  const { log: lines, written } = log({ rule: { kind: 'window', seconds: 0.1 + 0.2 } });
  lines.batchStarts({ ...batch, oldestWaitMs: 0 });
  expect(written.stdout).toBe('batch start: 0.000/0.3, 64/64\n');
});

test('without a window the lines have the policy and the dispatch reason', () => {
  const { log: lines, written } = log({
    rule: { kind: 'own', policy: greedy() },
    maxBatchSize: -1,
    verbose: true,
  });
  lines.started();
  lines.batchStarts({ cost: 17, reason: 'idle', oldestWaitMs: 4 });
  lines.batchEnded(record);
  expect(written.stdout).toBe(
    'BatchProcessor start: delay=0.001, batch_size=inf batch_time=greedy\n' +
      'batch start: 0.004, 17/inf (idle)\nbatch end: 0.012, 2 answered, 1 failed\n',
  );
});

test('errors go to stderr, also with --quiet', () => {
  const { log: lines, written } = log({ quiet: true });
  const notices: ProcessorNotice[] = [
    { event: 'disconnected', error: new Error('Socket closed') },
    { event: 'connected' },
    { event: 'taken-over', items: 2, delivery: 2 },
    { event: 'taken-over', items: 1, delivery: 1 },
    { event: 'died', items: 1 },
    { event: 'fenced', id: '5-0' },
    { event: 'failed', error: new Error('OOM\nno memory.') },
  ];
  lines.batchStarts({ ...batch, oldestWaitMs: 1 });
  for (const notice of notices) lines.notice(notice);
  lines.batchEnded({ ...record, error: new Error('boom') });
  expect(written.stdout).toBe('');
  expect(written.stderr.trimEnd().split('\n')).toEqual([
    'Redis is unreachable: Socket closed. The items stay in the queue.',
    'Redis is reachable again.',
    'Took over 2 items of a worker without heartbeat, delivery 2.',
    'Took over 1 item that a worker returned.',
    'Dead letter: 1 item without an answer after 3 deliveries. See batchwise dead list --queue q.',
    'The result of 5-0 is dropped: another worker has taken over the item.',
    'error: OOM no memory. The worker tries again.',
    'error: a batch of 3 failed: boom',
  ]);
});
