/** `batchwise serve` in a process of its own, so that the load generator does not take its time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const BATCHWISE = fileURLToPath(new URL('../../../packages/cli/bin/batchwise.js', import.meta.url));

export interface ServerProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Resolves when the server listens, on any free port. The server ends with this process. */
export async function startServer(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [BATCHWISE, 'serve', ...args, '--port', '0'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const onExit = () => child.kill();
  const onSignal = () => process.exit(130);
  process.on('exit', onExit).on('SIGINT', onSignal).on('SIGTERM', onSignal);
  child.once('exit', () => process.off('exit', onExit).off('SIGINT', onSignal).off('SIGTERM', onSignal));

  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, at] = / serves .* at (http:\S+)/.exec(line) ?? [];
      if (at !== undefined) resolve(at);
    });
    child.once('close', (code) => reject(new Error(`batchwise serve ended with ${code}.\n${errors}`)));
  });
  return {
    url,
    stop: async () => {
      child.kill();
      await exited;
    },
  };
}
