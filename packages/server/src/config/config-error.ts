/** What is wrong with a configuration: all of it, each complaint with its place. */
import { type Origin, originText } from './setting-origin.js';

export interface ConfigProblem {
  /** Undefined when it is about a file as a whole that could not be read, or a value that nobody gave. */
  readonly origin: Origin | undefined;
  /** `runners.iris.batching.max_batch_size`; empty when it is about no setting in particular. */
  readonly path: string;
  /** What was expected, what came, what may have been meant. */
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

/** `batchwise.yaml:7:5: server.port: expected …, got ….` The variable or flag stands for the path where there is one. */
export function problemText({ origin, path, message }: ConfigProblem): string {
  const parts = [message];
  if (path !== '' && (origin === undefined || origin.kind === 'file' || origin.kind === 'default'))
    parts.unshift(path);
  if (origin !== undefined && origin.kind !== 'default') parts.unshift(originText(origin));
  return parts.join(': ');
}
