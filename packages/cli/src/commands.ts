/**
 * The commands in the order of the help. A command is loaded when it is called, so that `batchwise --help` does not
 * import the server, Redis, the proxy and the arena.
 */
import type { Command } from 'commander';
import type { Terminal } from './terminal/terminal.js';

/** Adds flags, help and action to a command. */
export type SetUp = (command: Command, terminal: Terminal, exit: (code: number) => void) => void;

export interface ListedCommand {
  readonly name: string;
  /** The arguments in the usage of the command. */
  readonly takes: string;
  readonly summary: string;
  load(): Promise<SetUp>;
}

export const COMMANDS: readonly ListedCommand[] = [
  {
    name: 'init',
    takes: '[folder]',
    summary: 'create a service, a configuration file and a test',
    load: async () => (await import('./init/init-command.js')).setUpInit,
  },
  {
    name: 'serve',
    takes: '[options] [files...]',
    summary: 'serve models or a service over HTTP and gRPC',
    load: async () => (await import('./serve/serve-command.js')).setUpServe,
  },
  {
    name: 'config',
    takes: '[options]',
    summary: 'print the effective settings and their origins',
    load: async () => (await import('./serve/config-command.js')).setUpConfig,
  },
  {
    name: 'proxy',
    takes: '[options]',
    summary: 'batch the calls to an existing gRPC service',
    load: async () => (await import('./proxy/proxy-command.js')).setUpProxy,
  },
  {
    name: 'worker',
    takes: '[options] <source>',
    summary: 'run the batches of a queue in Redis',
    load: async () => (await import('./worker/worker-command.js')).setUpWorker,
  },
  {
    name: 'queue',
    takes: '',
    summary: 'show the state of a queue in Redis',
    load: async () => (await import('./queue/queue-command.js')).setUpQueue,
  },
  {
    name: 'dead',
    takes: '',
    summary: 'list, retry or drop the dead letters of a queue',
    load: async () => (await import('./queue/dead-command.js')).setUpDead,
  },
  {
    name: 'load',
    takes: '[options] [target]',
    summary: 'send traffic to a server and report latency and failures',
    load: async () => (await import('./load/load-command.js')).setUpLoad,
  },
  {
    name: 'plan',
    takes: '[options]',
    summary: 'recommend settings; predict latency and capacity',
    load: async () => (await import('./plan/plan-command.js')).setUpPlan,
  },
  {
    name: 'arena',
    takes: '[options]',
    summary: 'compare policies with each other and with bounds',
    load: async () => (await import('./plan/arena-command.js')).setUpArena,
  },
  {
    name: 'completion',
    takes: '<shell>',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./completion/completion-command.js')).setUpCompletion,
  },
];
