/** A terminal that writes down what it is told. */
import { COMMANDS } from '../../src/commands.js';
import type { Terminal } from '../../src/terminal/terminal.js';

// Commands are loaded when they are called. Here beforehand: the first test of a file should not pay for it.
await Promise.all(COMMANDS.map(({ load }) => load()));

export interface FakeTerminal extends Terminal {
  readonly written: { stdout: string; stderr: string };
}

export function fakeTerminal({ isTTY = false, columns = 80, env = {} } = {}): FakeTerminal {
  const written = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY,
    columns,
    write: (text: string) => {
      written[name] += text;
    },
  });
  return { stdout: output('stdout'), stderr: output('stderr'), env, written };
}
