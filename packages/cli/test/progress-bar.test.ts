import { expect, test } from 'vitest';
import { ProgressBar } from '../src/terminal/progress-bar.js';
import { fakeTerminal } from './support/fake-terminal.js';

const ERASE = '\r\x1b[2K';

test('fills up, in one line', () => {
  const terminal = fakeTerminal({ isTTY: true });
  const bar = new ProgressBar(terminal);
  bar.show({ doing: 'this', share: 0 });
  bar.show({ doing: 'that', share: 0.5 });
  bar.show({ doing: 'that', share: 1 });
  expect(terminal.written.stderr.split(ERASE).slice(1)).toEqual([
    `${'╌'.repeat(24)}   0 %  this`,
    `${'━'.repeat(12)}${'╌'.repeat(12)}  50 %  that`,
    `${'━'.repeat(24)} 100 %  that`,
  ]);
});

test('is not redrawn without a change', () => {
  const terminal = fakeTerminal({ isTTY: true });
  const bar = new ProgressBar(terminal);
  for (const share of [0.5, 0.5001, 0.5002]) bar.show({ doing: 'this', share });
  expect(terminal.written.stderr.split(ERASE)).toHaveLength(2);
});

test('never wraps', () => {
  const terminal = fakeTerminal({ isTTY: true, columns: 30 });
  new ProgressBar(terminal).show({ doing: 'something with a long name', share: 0.5 });
  expect(terminal.written.stderr.replace(ERASE, '')).toHaveLength(29);
});

test('is erased once at the end', () => {
  const terminal = fakeTerminal({ isTTY: true });
  const bar = new ProgressBar(terminal);
  bar.clear();
  expect(terminal.written.stderr).toBe('');
  bar.show({ doing: 'this', share: 0.5 });
  bar.clear();
  bar.clear();
  expect(terminal.written.stderr.split(ERASE)).toHaveLength(3);
});

test.each([{ isTTY: false }, { isTTY: true, env: { TERM: 'dumb' } }])(
  'writes nothing where %o',
  (options) => {
    const terminal = fakeTerminal(options);
    const bar = new ProgressBar(terminal);
    bar.show({ doing: 'this', share: 0.5 });
    bar.clear();
    expect(terminal.written.stderr).toBe('');
  },
);
