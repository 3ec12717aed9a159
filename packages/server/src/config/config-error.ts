/** All problems of a configuration, each with its location. */
import { type Origin, originText } from './setting-origin.js';

export interface ConfigProblem {
  /** Undefined for a file that could not be read, or a value without a source. */
  readonly origin: Origin | undefined;
  /** `runners.iris.batching.max_batch_size`; empty if the problem does not concern one setting. */
  readonly path: string;
  /** What was expected, what was given, and a suggestion. */
  readonly message: string;
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[], options?: ErrorOptions) {
    super(problems.map(problemText).join('\n'), options);
    this.problems = problems;
  }

  override get name(): string {
    return 'ConfigError';
  }
}

/** `batchwise.yaml:7:5: server.port: expected …, got ….` A variable or flag replaces the path. */
export function problemText({ origin, path, message }: ConfigProblem): string {
  const parts = [message];
  if (path !== '' && (origin === undefined || origin.kind === 'file' || origin.kind === 'default'))
    parts.unshift(path);
  if (origin !== undefined && origin.kind !== 'default') parts.unshift(originText(origin));
  return parts.join(': ');
}
