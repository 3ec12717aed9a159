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

test('a backend that is away is told of once, and again when it is away again', () => {
  const away = 'backend a:1 cannot be reached: connect ECONNREFUSED';
  const other = 'backend b:2 cannot be reached: connect ECONNREFUSED';
  const back = 'backend a:1 is connected';
  expect(logged(away, away, other, away, back, away, other)).toEqual(
    [away, other, back, away].map((line) => `B${line.slice(1)}.`),
  );
});

test('what is about no backend may come again', () => {
  expect(logged('more answers than items', 'more answers than items')).toHaveLength(2);
});

test('what is told before it has started comes after, and never when it does not start', () => {
  const written: string[] = [];
  const log = new ProxyLog((line) => written.push(line));
  log.write('backend a:1 is connected');
  expect(written).toEqual([]);
  log.started();
  log.write('backend a:1 is not well');
  expect(written).toEqual(['Backend a:1 is connected.', 'Backend a:1 is not well.']);
});
