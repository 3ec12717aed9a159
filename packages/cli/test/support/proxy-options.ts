/** What a command line of `batchwise proxy` comes to, without starting anything. */
import type { ProxyOptions } from '@batchwise/proxy';
import { ConfigError, problemText } from '@batchwise/server';
import { Command, CommanderError } from 'commander';
import { withDashes } from '../../src/proxy/proxy-dashes.js';
import { addProxyFlags, type ProxyFlags } from '../../src/proxy/proxy-flags.js';
import { loadProxy } from '../../src/proxy/proxy-load.js';
import { proxyOptions } from '../../src/proxy/proxy-options.js';
import { UsageFailure } from '../../src/terminal/failure.js';

export interface CommandLine {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The options of startProxy(), or every complaint. */
export function optionsOf(
  args: readonly string[],
  { env = {}, cwd }: CommandLine = {},
): ProxyOptions | string[] {
  try {
    return proxyOptions(loadProxy(flagsOf(args), env, cwd));
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(problemText);
    if (error instanceof CommanderError || error instanceof UsageFailure) return [error.message];
    throw error;
  }
}

function flagsOf(args: readonly string[]): ProxyFlags {
  const command = addProxyFlags(new Command('proxy'))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  const [, ...dashed] = withDashes(['proxy', ...args]);
  return command.parse(dashed, { from: 'user' }).opts();
}
