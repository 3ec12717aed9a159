/** `npm run digits` as a newcomer meets it: a real process, the real model. Needs the build. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../examples/digits/dist/main.js', import.meta.url));

function start(...flags: string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function outcomeOf(child: ChildProcess) {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}

/** With as much time as it takes to answer something in. */
async function story() {
  for (let seconds = 0.5; ; seconds *= 4) {
    const outcome = await outcomeOf(start('--seconds', String(seconds)));
    if (!outcome.stdout.includes('Too short to compare') || seconds > 100) return outcome;
  }
}

test('the story ends by itself, with a row for both ways and every answer correct', async () => {
  const { code, stdout, stderr } = await story();

  expect(stderr).toBe('');
  expect(stdout).toMatch(/^one by one +[\d,]+( +[\d.]+){4} +1\.0 +█/m);
  expect(stdout).toMatch(/^batcher +[\d,]+( +[\d.]+){5} /m);
  expect(stdout).toContain('all answers correct');
  expect(code).toBe(0);
});

test('what goes into a pipe has no escape codes and each row once', async () => {
  const { stdout } = await outcomeOf(start('--seconds', '0.2'));

  expect(stdout).not.toContain('\x1b');
  expect(stdout).not.toContain('\r');
  expect(stdout.match(/^one by one/gm)).toHaveLength(1);
  expect(stdout.match(/^batcher/gm)).toHaveLength(1);
});

test('no batch is larger than --max-batch-size', async () => {
  const { code, stdout } = await outcomeOf(
    start('--seconds', '1', '--callers', '9', '--max-batch-size', '3'),
  );

  expect(stdout).toMatch(/ 1 2 3$/m);
  const meanBatch = Number(/^batcher +[\d,]+(?: +[\d.]+){4} +([\d.]+)/m.exec(stdout)?.[1]);
  expect(meanBatch).toBeGreaterThan(1);
  expect(meanBatch).toBeLessThanOrEqual(3);
  expect(code).toBe(0);
});

// Windows has no signals: kill() would simply end the process.
test.skipIf(process.platform === 'win32')('an interruption ends it cleanly', async () => {
  const child = start('--seconds', '600');
  child.stdout?.once('data', () => child.kill('SIGINT'));
  const { code, signal, stdout, stderr } = await outcomeOf(child);

  expect(stderr).toBe('');
  expect(stdout).toContain('Interrupted');
  expect(signal).toBeNull();
  expect(code).toBe(130);
});

test('--help lists the flags and runs nothing', async () => {
  const { code, stdout } = await outcomeOf(start('--help'));

  expect(stdout).toContain('--max-batch-size');
  expect(stdout).not.toContain('one by one  ');
  expect(code).toBe(0);
});

test.each([
  { flags: ['--sconds', '1'], message: "Unknown option '--sconds'. See --help for the flags there are." },
  { flags: ['fast'], message: "Unexpected argument 'fast'. See --help for the flags there are." },
  { flags: ['--seconds', 'soon'], message: "--seconds: expected a number from 0.1 to 600, got 'soon'." },
  { flags: ['--callers', '1.5'], message: "--callers: expected a whole number, got '1.5'." },
  {
    flags: ['--max-batch-size', '0'],
    message: "--max-batch-size: expected a number from 1 to 1024, got '0'.",
  },
])('$flags is refused with what to write instead', async ({ flags, message }) => {
  const { code, stdout, stderr } = await outcomeOf(start(...flags));

  expect(stderr.trim()).toBe(message);
  expect(stdout).toBe('');
  expect(code).toBe(1);
});
