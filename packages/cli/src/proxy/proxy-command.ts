/** `batchwise proxy`: batches the calls to an existing gRPC service until a signal. */
import { constants } from 'node:os';
import { type RunningProxy, startProxy } from '@batchwise/proxy';
import { ConfigError, durationText } from '@batchwise/server';
import { realClock } from 'batchwise';
import type { Command } from 'commander';
import { configErrorText } from '../serve/config-command.js';
import { type EndingSignals, endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';
import { proxyBanner } from './proxy-banner.js';
import { addProxyFlags, type ProxyFlags } from './proxy-flags.js';
import { DEFAULT_DRAIN_MS } from './proxy-listen-settings.js';
import { loadProxy } from './proxy-load.js';
import { ProxyLog } from './proxy-log.js';
import { proxyOptions } from './proxy-options.js';

const FOOTER: HelpFooter = {
  examples: [
    'batchwise proxy --forwarding-target localhost:50051',
    'batchwise proxy --max-batch-size 8 --timeout-usecs 2000 --max-batches-in-flight 1',
    'batchwise proxy --method /iris.Classifier/Classify=ClassifyBatch --target-latency-ms 50',
    'batchwise proxy --target gpu-1:50051 --target gpu-2:50051',
    'batchwise proxy -c proxy.yaml',
  ],
  notes: [
    'Clients call /package.Service/Compute at the port of the proxy. The backend receives each batch as one stream of ' +
      '/package.Service/BatchedCompute and answers the messages in order. No .proto file is needed. Flags may have ' +
      'underscores: --max_batch_size=8.',
    'Precedence: flags, environment (BATCHWISE__PROXY__MAX_BATCH_SIZE=8), file, defaults.',
    'SIGTERM and Ctrl-C finish the accepted calls and stop the proxy. A second signal stops it at once.',
  ],
  exitCodes: { 0: 'stopped by a signal', 1: 'the start or the drain failed' },
};

export function setUpProxy(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command.description('Accepts the unary calls of a gRPC service and sends them to the service in batches.');
  finishHelp(addProxyFlags(command), FOOTER).action(async (flags: ProxyFlags) =>
    exit(await runProxy(flags, terminal)),
  );
}

async function runProxy(flags: ProxyFlags, terminal: Terminal): Promise<number> {
  const log = (line: string) => terminal.stderr.write(`${line}\n`);
  const ending = endingSignals();
  try {
    const options = proxyOptions(loadProxy(flags, terminal.env));
    const proxyLog = new ProxyLog(log);
    const starting = startProxy({ ...options, log: (line) => proxyLog.write(line) });
    const proxy = await Promise.race([starting, ending.first]);
    if (typeof proxy === 'string') {
      log(`${proxy} received.`);
      starting.then((late) => late.destroy()).catch(() => {});
      return EXIT_CODES.ok;
    }
    terminal.stdout.write(proxyBanner(proxy, options, paletteFor(terminal.stdout, terminal.env)));
    proxyLog.started();
    log(
      `${await ending.first} received. Finishing the accepted calls. A second signal stops the proxy at once.`,
    );
    return await finish(proxy, options.drainTimeoutMs ?? DEFAULT_DRAIN_MS, ending, log);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.stderr.write(configErrorText(error, terminal));
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
  // Fires before the timer of the proxy, which ends the calls that are still open.
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
    `Aborted after the drain timeout of ${durationText(timeoutMs)}: ${unfinished === 1 ? '1 call' : `${unfinished} calls`}.`,
  );
  return EXIT_CODES.failed;
}
