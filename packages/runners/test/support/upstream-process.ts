/** An upstream in its own process that reports on stdout. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from './until.js';

export interface UpstreamProcess {
  readonly port: number;
  /** Its output so far. */
  readonly lines: readonly string[];
  /** Waits for an output line. */
  said(pattern: RegExp): Promise<string>;
  kill(): Promise<void>;
}

/** The process is ended with the test. */
export async function startUpstream(file: string, ...args: string[]): Promise<UpstreamProcess> {
  const path = fileURLToPath(new URL(`../system/upstreams/${file}`, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const gone = once(child, 'exit');
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => lines.push(line));
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  const said = (pattern: RegExp) =>
    until(() => lines.find((line) => pattern.test(line)), `${file} to print ${pattern}; it printed ${lines}`);
  const port = Number((await said(/^listening/)).split(' ')[1]);
  return { port, lines, said, kill };
}
