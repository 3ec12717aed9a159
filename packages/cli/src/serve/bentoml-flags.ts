/** Flags of `bentoml serve` that `batchwise serve` does not have: each is rejected with what to do instead. */
import { type Command, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';

const TLS = 'TLS is not served here: put a proxy that ends TLS in front';

const INSTEAD: Readonly<Record<string, string>> = {
  production: 'there is no such mode here: leave it out, and set --workers <count> for several web processes',
  development: 'there is no such mode here: leave it out',
  reload:
    'use --watch to restart when a Python model or a TypeScript service changes; settings of the file need no restart',
  'api-workers': 'use --workers <count>',
  backlog: 'there is no such setting here: server.limits.connections in the file limits open connections',
  timeout: 'set runners.timeout, or server.limits.request_timeout, in the file (-c)',
  'timeout-keep-alive': 'set server.limits.keep_alive_timeout in the file (-c)',
  'timeout-graceful-shutdown': 'set server.shutdown_timeout in the file (-c)',
  'working-dir':
    'paths are relative to the current folder, those in the file (-c) to its folder: leave it out',
  'enable-reflection': 'gRPC reflection is always on: leave it out',
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
