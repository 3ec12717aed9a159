/** The completion scripts in the shells that are installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from './support/serving.js';

type Shell = 'bash' | 'zsh' | 'fish';

/** A command line, and the words that are proposed for its last word; [] for files. */
const LINES: [line: string, proposed: string[]][] = [
  ['batchwise pl', ['plan']],
  ['batchwise load kn', ['knee']],
  ['batchwise load knee --targ', ['--target-latency-ms', '--target-ms']],
  ['batchwise load http://localhost --us', ['--users']],
  ['batchwise dead ', ['drop', 'list', 'retry']],
  ['batchwise worker handler.ts --policy ', ['adaptive', 'greedy', 'window']],
  ['batchwise help ar', ['arena']],
  ['batchwise completion ', ['bash', 'fish', 'zsh']],
  ['batchwise serve one', ['one.onnx']],
  ['batchwise serve --config tw', ['two.yaml']],
  ['batchwise plan --rate o', []],
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-completion-'));
  for (const name of ['one.onnx', 'two.yaml']) writeFileSync(join(folder, name), '');
  const bin = join(root, 'packages/cli/bin/batchwise.js');
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(
      join(folder, `script.${shell}`),
      execFileSync(process.execPath, [bin, 'completion', shell]),
    );
});

afterAll(() => rmSync(folder, { recursive: true }));

const isInstalled = (shell: Shell) => spawnSync(shell, ['-c', '']).error === undefined;

function run(shell: Shell, script: string, ...args: string[]): string[] {
  const output = execFileSync(shell, ['-c', script, shell, ...args], { cwd: folder, encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

describe.skipIf(!isInstalled('bash'))('bash', () => {
  test.each(LINES)('%s', (line, proposed) => {
    // bash itself completes files if the function proposes nothing (`-o default`).
    const script = `
      source script.bash
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _batchwise
      printf '%s\\n' "\${COMPREPLY[@]}"
      complete -p batchwise`;
    const words = run('bash', script, ...line.split(' '));
    expect(words.pop()).toBe('complete -o default -F _batchwise batchwise');
    expect(words.sort()).toEqual(proposed.filter((word) => !word.includes('.')));
  });

  test('splits a flag and its value at the sign', () => {
    const script = `source script.bash; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _batchwise; echo $COMPREPLY`;
    expect(run('bash', script, 'batchwise', 'worker', '--policy', '=', 'gr')).toEqual(['greedy']);
  });
});

describe.skipIf(!isInstalled('fish'))('fish', () => {
  test.each(LINES)('%s', (line, proposed) => {
    const words = run('fish', `source script.fish; complete -C '${line}'`);
    expect(words.map((word) => word.split('\t')[0]).sort()).toEqual(proposed);
  });
});

// zsh completes only in an interactive session, so this only checks that the script defines its functions.
test.skipIf(!isInstalled('zsh'))('zsh', () => {
  const script = `
    compdef() { print $* }
    source script.zsh
    typeset -f _batchwise_load_knee > /dev/null && print defined`;
  expect(run('zsh', script)).toEqual(['_batchwise batchwise', 'defined']);
});
