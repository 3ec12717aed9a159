/** `batchwise proxy`: batches the calls to a gRPC service that is there already, until a signal ends it. */
import { constants } from 'node:os';
import { type RunningProxy, startProxy } from '@batchwise/proxy';
import { ConfigError, durationText } from '@batchwise/server';
import { realClock } from 'batchwise';
import type { Command } from 'commander';
import { configErrorText } from '../serve/config-command.js';
import { type EndingSignals, endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';
import { proxyBanner } from './proxy-banner.js';
import { DEFAULT_DRAIN_MS } from './proxy-door-settings.js';
import { addProxyFlags, type ProxyFlags } from './proxy-flags.js';
import { loadProxy } from './proxy-load.js';
import { ProxyLog } from './proxy-log.js';
import { proxyOptions } from './proxy-options.js';

const EXAMPLES = `
Examples:
  $ batchwise proxy --forwarding-target localhost:50051
  $ batchwise proxy --max-batch-size 8 --timeout-usecs 2000 --max-batches-in-flight 1
  $ batchwise proxy --method /iris.Classifier/Classify=ClassifyBatch --target-latency-ms 50
  $ batchwise proxy --target gpu-1:50051 --target gpu-2:50051 --max-batches-in-flight 2
  $ batchwise proxy -c proxy.yaml

Clients call /package.Service/Compute as before, at the proxy's port. The backend gets the calls of a batch
as the messages of one stream of /package.Service/BatchedCompute, and answers each, in their order. No .proto
is needed. Flags may have underscores, as --max_batch_size=8.

With --timeout-usecs batches leave when they are full or their first call has waited so long. Without it,
when that is best: at once while a backend is free.

Flags go over the environment (BATCHWISE__PROXY__MAX_BATCH_SIZE=8), the environment over the file.

SIGTERM and Ctrl-C finish what was accepted; a second one ends at once.

Exit codes: 0 stopped as told, 1 it could not start, or not all could be finished, 2 wrong flags.`;

export function setUpProxy(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command.description('Stands before a gRPC service: takes its unary calls, and sends them on in batches.');
  addProxyFlags(command)
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ProxyFlags) => exit(await runProxy(flags, terminal)));
}

async function runProxy(flags: ProxyFlags, terminal: Terminal): Promise<number> {
  const log = (line: string) => terminal.stderr.write(`${line}\n`);
  const ending = endingSignals();
  try {
    const options = proxyOptions(loadProxy(flags, terminal.env));
    const proxyLog = new ProxyLog(log);
    const starting = startProxy({ ...options, log: (line) => proxyLog.told(line) });
    const proxy = await Promise.race([starting, ending.first]);
    if (typeof proxy === 'string') {
      // Told to end before it had begun.
      log(`${proxy}.`);
      starting.then((late) => late.destroy()).catch(() => {});
      return EXIT_CODES.ok;
    }
    terminal.stdout.write(proxyBanner(proxy, options, paletteFor(terminal.stdout, terminal.env)));
    proxyLog.started();
    log(`${await ending.first}. Finishing what was accepted; a second signal ends it at once.`);
    return await finish(proxy, options.drainTimeoutMs ?? DEFAULT_DRAIN_MS, ending, log);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.stderr.write(configErrorText(error));
    return EXIT_CODES.failed;
  } finally {
    ending.stop();
  }
}

async function finish(
  proxy: RunningProxy,
  timeoutMs: number,
  ending: EndingSignals,
  log: (line: string) => void,
): Promise<number> {
  let unfinished = timeoutMs === 0 ? proxy.stats().openCalls : 0;
  // Set before the proxy sets its own: what is open then is what will be cut off.
  const timer = realClock.setTimer(() => {
    unfinished = proxy.stats().openCalls;
  }, timeoutMs);
  const signal = await Promise.race([proxy.close({ timeoutMs }).then(() => undefined), ending.second]);
  realClock.clearTimer(timer);
  if (signal !== undefined) {
    proxy.destroy();
    return 128 + constants.signals[signal];
  }
  if (unfinished === 0) return EXIT_CODES.ok;
  log(
    `Not finished after ${durationText(timeoutMs)}, and cut off: ${unfinished === 1 ? '1 call' : `${unfinished} calls`}.`,
  );
  return EXIT_CODES.failed;
}
