/** Flags of `bentoml serve` that `batchwise serve` does not have: each is rejected with the alternative. */
import { type Command, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';

const TLS = 'batchwise serve has no TLS: terminate TLS in a reverse proxy';

const INSTEAD: Readonly<Record<string, string>> = {
  production: 'batchwise has no such mode: omit it, and set --workers <count> for several web processes',
  development: 'batchwise has no such mode: omit it',
  reload:
    'use --watch to restart when a Python model or a TypeScript service changes; the configuration file needs no restart',
  'api-workers': 'use --workers <count>',
  backlog:
    'batchwise has no such setting: server.limits.connections in the configuration file limits open connections',
  timeout: 'set runners.timeout, or server.limits.request_timeout, in the file (-c)',
  'timeout-keep-alive': 'set server.limits.keep_alive_timeout in the file (-c)',
  'timeout-graceful-shutdown': 'set server.shutdown_timeout in the file (-c)',
  'working-dir': 'paths are relative to the working directory, those in the file (-c) to its folder: omit it',
  'enable-reflection': 'gRPC reflection is always enabled: omit it',
  'max-concurrent-streams': 'set server.limits.in_flight in the file (-c)',
  'remote-runner': 'set runners.<name>.upstream.url in the file (-c)',
  'ssl-certfile': TLS,
  'ssl-keyfile': TLS,
  'ssl-keyfile-password': TLS,
  'ssl-ca-certs': TLS,
};

export function rejectBentomlFlags(command: Command): Command {
  for (const [name, instead] of Object.entries(INSTEAD)) {
    command.addOption(new Option(`--${name} [value]`).hideHelp());
    command.on(`option:${name}`, () =>
      command.error(`error: --${name} is a flag of BentoML: ${instead}.`, { exitCode: EXIT_CODES.usage }),
    );
  }
  return command;
}
