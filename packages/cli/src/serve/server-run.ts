/** One run of `batchwise serve`: starts the server, with --watch again after each change, until a signal ends it. */
import { constants } from 'node:os';
import { relative } from 'node:path';
import type { Palette } from '@batchwise/arena';
import {
  ConfigError,
  type ConfigFlags,
  durationText,
  type LoadedConfig,
  loadConfig,
  pythonReference,
  type RunningServer,
  type ServerSettings,
  serve,
} from '@batchwise/server';
import { realClock } from 'batchwise';
import { endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { errorLine } from '../terminal/failure.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';
import { configErrorText } from './config-command.js';
import { watchFile } from './config-watch.js';
import { SourceWatch } from './source-watch.js';

export interface ServerRunOptions {
  /** The configuration file. */
  readonly config: string | undefined;
  readonly flags: ConfigFlags;
  /** Restarts the server when a source file changes. */
  readonly watch: boolean;
}

/** Why the server stops. */
type End = { readonly kind: 'signal' } | { readonly kind: 'change'; readonly file: string };

/** Resolves to an exit code; undefined for a restart. */
type Outcome = Promise<number | undefined>;

/** The longest time to wait for killed processes. They also end when this process has ended. */
const KILL_MS = 2000;

export class ServerRun {
  readonly #flags: ConfigFlags;
  readonly #terminal: Terminal;
  readonly #sources: SourceWatch | undefined;
  readonly #ending = endingSignals();
  /** A file that was found counts as named from then on: if it is deleted, the settings do not change. */
  #file: string | undefined;
  /** For the restart of a server on ports that the system chose. */
  #ports: Pick<ConfigFlags, 'port' | 'grpcPort'> = {};
  #isEnding = false;
  /** Called on SIGHUP and when the configuration file has changed. */
  #reload: () => void = () => {};
  #stopWatchingFile: () => void = () => {};
  readonly #onReloadSignal = () => this.#reload();

  constructor({ config, flags, watch }: ServerRunOptions, terminal: Terminal) {
    this.#file = config;
    this.#flags = flags;
    this.#terminal = terminal;
    this.#sources = watch ? new SourceWatch(this.#log) : undefined;
    this.#ending.first.then((signal) => {
      this.#isEnding = true;
      this.#log(`${signal} received.`);
    });
    process.on('SIGHUP', this.#onReloadSignal);
  }

  /** Resolves to the exit code. Rejects if the server cannot start. */
  async untilEnd(): Promise<number> {
    try {
      this.#load(); // reports invalid settings first
      if (this.#file !== undefined)
        this.#stopWatchingFile = watchFile(this.#file, () => this.#reload(), this.#log);
      this.#terminal.stdout.write('Loading and warming up …\n');
      let code = await this.#serveOnce(false);
      while (code === undefined) code = await this.#serveOnce(true);
      return code;
    } finally {
      this.#ending.stop();
      this.#stopWatchingFile();
      this.#sources?.stop();
      process.off('SIGHUP', this.#onReloadSignal);
    }
  }

  readonly #log = (line: string): void => {
    this.#terminal.stderr.write(`${line}\n`);
  };

  readonly #load = (runnerNames?: readonly string[]): LoadedConfig => {
    const flags = { ...this.#flags, ...this.#ports };
    const config = loadConfig({ file: this.#file, env: this.#terminal.env, flags, runnerNames });
    this.#file ??= config.file;
    return config;
  };

  async #serveOnce(isRestart: boolean): Outcome {
    const sources = this.#sources;
    sources?.reset();
    const end = this.#end();
    const starting = new AbortController();
    void end.then(() => starting.abort());
    let server: RunningServer;
    let settings: ServerSettings;
    try {
      settings = this.#load().settings;
      sources?.add(sourceFiles(settings));
      const onPythonFiles = (files: readonly string[]) => sources?.add(files);
      const { signal } = starting;
      server = await serve({ load: this.#load, log: this.#log, signal, onPythonFiles, isRestart });
    } catch (error) {
      if (starting.signal.aborted) return this.#stopped(await end);
      if (sources === undefined || (!isRestart && error instanceof ConfigError)) throw error;
      this.#terminal.stderr.write(errorText(error, this.#terminal));
      this.#log('Waiting for a change of the files. Ctrl-C stops the server.');
      this.#reload = () => sources.report(this.#file ?? 'the settings');
      return this.#stopped(await end);
    }
    this.#reload = () => this.#reloadSettings(server);
    this.#announce(server, isRestart);
    this.#keepPorts(settings, server);
    return this.#finish(server, settings, await end);
  }

  #end(): Promise<End> {
    const signal = this.#ending.first.then((): End => ({ kind: 'signal' }));
    if (this.#sources === undefined) return signal;
    const change = this.#sources.changed.then((file): End => ({ kind: 'change', file }));
    return Promise.race([signal, change]);
  }

  #announce(server: RunningServer, isRestart: boolean): void {
    const { stdout, env } = this.#terminal;
    if (isRestart) this.#log(`Ready again at ${server.address.url}.`);
    else stdout.write(greeting(server, paletteFor(stdout, env)));
    if (this.#sources?.isEmpty === true)
      this.#log('--watch has no effect: there is no Python model and no TypeScript service.');
  }

  #keepPorts({ server: { port, grpcPort } }: ServerSettings, { address }: RunningServer): void {
    this.#ports = {
      ...this.#ports,
      ...(port === 0 && { port: address.port }),
      ...(grpcPort === 0 && address.grpcPort !== undefined && { grpcPort: address.grpcPort }),
    };
  }

  async #finish(server: RunningServer, settings: ServerSettings, end: End): Outcome {
    this.#reload = () => {};
    if (end.kind === 'change') this.#logChange(end.file);
    else this.#log('Finishing the accepted requests. A second signal stops the server at once.');
    const finished = await Promise.race([server.stop(), this.#ending.second]);
    if (typeof finished === 'string') {
      const timeout = new Promise<void>((resolve) => void realClock.setTimer(resolve, KILL_MS));
      await Promise.race([server.kill(), timeout]);
      return 128 + constants.signals[finished];
    }
    if (!finished) {
      const timeout = durationText(settings.server.shutdownTimeoutMs);
      this.#log(`Some accepted requests are not finished after server.shutdown_timeout, ${timeout}.`);
    }
    // A signal during a restart ends the server, too.
    if (!this.#isEnding) return undefined;
    return finished ? EXIT_CODES.ok : EXIT_CODES.failed;
  }

  /** For a server that is not running. */
  #stopped(end: End): number | undefined {
    this.#reload = () => {};
    if (end.kind === 'signal' || this.#isEnding) return EXIT_CODES.ok;
    this.#logChange(end.file);
    return undefined;
  }

  #reloadSettings(server: RunningServer): void {
    try {
      server.reload();
    } catch (error) {
      this.#log(`${errorText(error, this.#terminal)}The settings are unchanged.`);
    }
  }

  #logChange(file: string): void {
    this.#log(`${relative('', file)} changed: reloading …`);
  }
}

/** The files to watch, as far as they are known before a service is loaded. */
function sourceFiles({ models, service }: ServerSettings): string[] {
  const files = models.flatMap(({ path }) => pythonReference(path)?.file ?? []);
  return service !== undefined && /\.[cm]?ts$/.test(service) ? [...files, service] : files;
}

function errorText(error: unknown, terminal: Terminal): string {
  if (error instanceof ConfigError) return configErrorText(error, terminal);
  return errorLine(error instanceof Error ? error.message : String(error), terminal);
}

function greeting({ address, runners }: RunningServer, { heading, faint }: Palette): string {
  const { url, grpcPort } = address;
  const places = [
    [`${url}/docs`, 'API docs, with forms to try requests'],
    [`${url}/dashboard`, 'live dashboard'],
    [`${url}/metrics`, 'Prometheus metrics'],
    [`${url}/readyz`, 'readiness check'],
  ];
  if (grpcPort !== undefined) places.push([`${new URL(url).hostname}:${grpcPort}`, 'gRPC']);
  const width = Math.max(...places.map(([place = '']) => place.length));
  const lines = places.map(([place = '', what = '']) => `  ${place.padEnd(width)}   ${faint(what)}`);
  const served = runners.join(', ') || 'the service';
  return `${heading('Batchwise')} serves ${served} at ${heading(url)}\n\n${lines.join('\n')}\n\nCtrl-C stops it.\n`;
}
