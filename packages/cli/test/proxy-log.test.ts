import { expect, test } from 'vitest';
import { ProxyLog } from '../src/proxy/proxy-log.js';

function logged(...lines: string[]): string[] {
  const written: string[] = [];
  const log = new ProxyLog((line) => written.push(line));
  log.started();
  for (const line of lines) log.write(line);
  return written;
}

test('lines become sentences', () => {
  expect(logged('backend a:1 is connected', 'It is so.', 'why?')).toEqual([
    'Backend a:1 is connected.',
    'It is so.',
    'Why?',
  ]);
});

test('an outage of a backend is logged once, and again after a recovery', () => {
  const away = 'backend a:1 cannot be reached: connect ECONNREFUSED';
  const other = 'backend b:2 cannot be reached: connect ECONNREFUSED';
  const back = 'backend a:1 is connected';
  expect(logged(away, away, other, away, back, away, other)).toEqual(
    [away, other, back, away].map((line) => `B${line.slice(1)}.`),
  );
});

test('lines that are not about a backend may repeat', () => {
  expect(logged('more answers than items', 'more answers than items')).toHaveLength(2);
});

test('lines before the start are written after it, and not if the start fails', () => {
  const written: string[] = [];
  const log = new ProxyLog((line) => written.push(line));
  log.write('backend a:1 is connected');
  expect(written).toEqual([]);
  log.started();
  log.write('backend a:1 is not well');
  expect(written).toEqual(['Backend a:1 is connected.', 'Backend a:1 is not well.']);
});
