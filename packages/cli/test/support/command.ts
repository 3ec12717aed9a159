/** The real command, as a process of its own, on the built files. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../bin/batchwise.js', import.meta.url));
const built = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function batchwise(args: readonly string[], cwd: string): Promise<Ended> {
  if (!existsSync(built)) throw new Error(`${built} is not there: run npm run build first.`);
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { cwd, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
