/** How a queue stands, for people and for programs. */
import type { Palette } from '@batchwise/arena';
import type { LevelStatus, QueueStatus } from '@batchwise/redis';
import { textTable } from '../terminal/text-table.js';

export function queueText(status: QueueStatus, { heading, faint, bad }: Palette): string {
  const { queue, depth, waiting, pending, lagMs, oldestAgeMs, ratePerSecond } = status;
  const { processors, redelivered, died, deadLetters, perLevel } = status;
  const facts: [string, string, string][] = [
    ['outstanding', count(depth), `${count(waiting)} waiting, ${count(pending)} held by processors`],
    ['oldest', span(oldestAgeMs), 'since it was submitted'],
    ['lag', span(lagMs), 'the oldest that no processor has fetched'],
    ['rate', rateText(ratePerSecond), 'what all processors can do together, in items a second'],
    ['redelivered', count(redelivered), 'taken over from processors that fell silent, so far'],
    ['dead letters', count(deadLetters), `of ${count(died)} that died so far`],
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
    ...(processors.length === 0 ? ['No processors.'] : titled(processorTable(status), heading)),
  ].join('\n')}\n`;
}

function levelTable(perLevel: QueueStatus['perLevel']): string[] {
  const row = (name: string, { depth, waiting, pending, lagMs, oldestAgeMs }: LevelStatus) => [
    ...[name, count(depth), count(waiting), count(pending), span(lagMs), span(oldestAgeMs)],
  ];
  const numbers = ['outstanding', 'waiting', 'held', 'lag', 'oldest'];
  return textTable(
    [{ title: 'priority' }, ...numbers.map((title) => ({ title, align: 'right' as const }))],
    Object.entries(perLevel).map(([name, level]) => row(name, level)),
  );
}

function processorTable({ processors }: QueueStatus): string[] {
  const numbers = ['pid', 'items/s', 'running', 'queued', 'batch', 'heard'];
  return textTable(
    [{ title: 'processor' }, ...numbers.map((title) => ({ title, align: 'right' as const }))],
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

/** Keys as in every JSON of the project; what is not known is null. */
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

/** A processor that has run nothing yet knows no rate. */
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
