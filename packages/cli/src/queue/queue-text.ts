/** The state of a queue as text and as JSON. */
import type { Palette } from '@batchwise/arena';
import type { LevelStatus, QueueStatus } from '@batchwise/redis';
import { textTable } from '../terminal/text-table.js';

export function queueText(status: QueueStatus, { heading, faint, bad }: Palette): string {
  const { queue, depth, waiting, pending, lagMs, oldestAgeMs, ratePerSecond } = status;
  const { processors, redelivered, died, deadLetters, perLevel } = status;
  const facts: [string, string, string][] = [
    ['outstanding', count(depth), `${count(waiting)} waiting, ${count(pending)} fetched by workers`],
    ['oldest', span(oldestAgeMs), 'age of the oldest item'],
    ['lag', span(lagMs), 'age of the oldest item that no worker has fetched'],
    [
      'capacity',
      rateText(ratePerSecond),
      'estimate of the highest rate of all workers together, in items per second',
    ],
    ['redelivered', count(redelivered), 'items taken over from workers without heartbeat, so far'],
    ['dead letters', count(deadLetters), `of ${count(died)} so far`],
  ];
  const width = Math.max(...facts.map(([, value]) => value.length));
  const lines = facts.map(([name, value, what]) => {
    const shown = value.padStart(width);
    const isBad = name === 'dead letters' && deadLetters > 0;
    return `  ${name.padEnd(12)}  ${isBad ? bad(shown) : shown}  ${faint(what)}`;
  });
  return `${[
    heading(`Queue ${queue}`),
    ...lines,
    '',
    ...titled(levelTable(perLevel), heading),
    '',
    ...(processors.length === 0 ? ['No workers.'] : titled(processorTable(status), heading)),
  ].join('\n')}\n`;
}

function levelTable(perLevel: QueueStatus['perLevel']): string[] {
  const row = (name: string, { depth, waiting, pending, lagMs, oldestAgeMs }: LevelStatus) => [
    ...[name, count(depth), count(waiting), count(pending), span(lagMs), span(oldestAgeMs)],
  ];
  const numbers = ['outstanding', 'waiting', 'fetched', 'lag', 'oldest'];
  return textTable(
    [{ title: 'priority' }, ...numbers.map((title) => ({ title, align: 'right' as const }))],
    Object.entries(perLevel).map(([name, level]) => row(name, level)),
  );
}

function processorTable({ processors }: QueueStatus): string[] {
  const numbers = ['pid', 'capacity', 'running', 'queued', 'max batch', 'heartbeat'];
  return textTable(
    [{ title: 'worker' }, ...numbers.map((title) => ({ title, align: 'right' as const }))],
    processors.map(({ host, pid, isPaused, ratePerSecond, running, queued, maxBatchSize, seenMsAgo }) => [
      host,
      String(pid),
      isPaused ? 'paused' : rateText(ratePerSecond),
      count(running),
      count(queued),
      Number.isFinite(maxBatchSize) ? count(maxBatchSize) : 'any',
      `${span(seenMsAgo)} ago`,
    ]),
  );
}

function titled([title = '', ...rows]: readonly string[], heading: Palette['heading']): string[] {
  return [heading(title), ...rows];
}

/** Unknown values are null. */
export function queueJson(status: QueueStatus): Record<string, unknown> {
  const { perLevel } = status;
  return {
    queue: status.queue,
    ...levelJson(status),
    redelivered: status.redelivered,
    died: status.died,
    dead_letters: status.deadLetters,
    rate_per_second: status.ratePerSecond || null,
    processors: status.processors.map((processor) => ({
      id: processor.id,
      host: processor.host,
      pid: processor.pid,
      paused: processor.isPaused,
      rate_per_second: processor.ratePerSecond || null,
      running: processor.running,
      queued: processor.queued,
      max_batch_size: Number.isFinite(processor.maxBatchSize) ? processor.maxBatchSize : null,
      seen_ms_ago: processor.seenMsAgo,
    })),
    per_level: Object.fromEntries(Object.entries(perLevel).map(([name, level]) => [name, levelJson(level)])),
  };
}

function levelJson({ depth, waiting, pending, lagMs, oldestAgeMs }: LevelStatus): Record<string, number> {
  return { depth, waiting, pending, lag_ms: lagMs, oldest_age_ms: oldestAgeMs };
}

function count(value: number): string {
  return value.toLocaleString('en');
}

/** A worker without a finished batch has no rate. */
function rateText(perSecond: number): string {
  if (perSecond === 0) return '–';
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1000 },
];

function span(ms: number): string {
  const unit = UNITS.find((each) => ms >= each.ms);
  return unit === undefined ? `${Math.round(ms)} ms` : `${(ms / unit.ms).toFixed(1)} ${unit.name}`;
}
