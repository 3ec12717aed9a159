/** Figures of a report in words, the same in the terminal and on the page. */
import { formatBatch, formatCount, formatMs, formatShare, formatTarget } from '@batchwise/arena';
import type { LoadReport, RequestFigures, TrafficFacts, Verdict } from './load-report.js';
import { parseThreshold } from './threshold.js';
import type { Quantity } from './threshold-metrics.js';

export function formatRate(perSecond: number): string {
  return `${formatCount(perSecond)}/s`;
}

/** `–` where nothing was measured. */
export function formatLatency(ms: number, count: number): string {
  return count === 0 ? '–' : formatMs(ms);
}

export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return [hours > 0 ? `${hours} h` : '', minutes > 0 ? `${minutes} min` : '', rest > 0 ? `${rest} s` : '']
    .filter((part) => part !== '')
    .join(' ');
}

/** `0:07`, `12:34`, `1:02:03`. */
export function formatClock(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  return whole < 3600
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** `Goodput 812/s within 100 ms (98.7 % of requests)`. */
export function goodputText({ total, targetLatencyMs }: LoadReport): string {
  if (total.count === 0) return 'No request has ended';
  const within = targetLatencyMs === undefined ? '' : ` within ${formatTarget(targetLatencyMs)}`;
  return `Goodput ${formatRate(total.goodPerSecond)}${within} (${formatShare(total.good / total.count)} of requests)`;
}

export function trafficText(traffic: TrafficFacts): string {
  if (traffic.kind === 'arrivals') return traffic.text;
  const { users, spawnRate, waitTime } = traffic;
  return `${formatCount(users)} ${users === 1 ? 'user' : 'users'}, spawn rate ${formatRate(spawnRate)}, wait time ${waitTime}`;
}

export function formatVerdict({ rule, value }: Verdict): string {
  return Number.isFinite(value) ? formatQuantity(value, quantityOf(rule)) : 'not measured';
}

/** A report may come from a file: a rule that is unknown here is shown with its plain value. */
function quantityOf(rule: string): Quantity {
  try {
    return parseThreshold(rule).quantity;
  } catch {
    return 'number';
  }
}

function formatQuantity(value: number, quantity: Quantity): string {
  switch (quantity) {
    case 'latency':
      return formatMs(value);
    case 'share':
      return formatShare(value);
    case 'rate':
      return formatRate(value);
    case 'number':
      return formatBatch(value);
  }
}

/** Whether the intended start makes a difference that is seen in the figures. */
export function differsFromIntended({ latency, intended }: RequestFigures): boolean {
  const shown = ['p50', 'p95', 'p99', 'max'] as const;
  return shown.some((name) => formatMs(latency[name]) !== formatMs(intended[name]));
}
