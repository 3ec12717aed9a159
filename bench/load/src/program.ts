/** Programs that are not npm packages: named by an environment variable, or found in the PATH. */
import { execFileSync } from 'node:child_process';
import { UsageError } from '@batchwise/bench-harness';

export interface Program {
  readonly name: string;
  /** The environment variable with its path. */
  readonly variable: string;
  readonly versionArgs: readonly string[];
  /** How to get it, in a sentence. */
  readonly install: string;
}

export const NGINX: Program = {
  name: 'nginx',
  variable: 'NGINX_PATH',
  versionArgs: ['-v'],
  install: 'apt-get install nginx-light, or name the program with NGINX_PATH.',
};

export const WRK: Program = {
  name: 'wrk',
  variable: 'WRK_PATH',
  versionArgs: ['-v'],
  install: 'apt-get install wrk, or name the program with WRK_PATH.',
};

export const LOCUST: Program = {
  name: 'locust',
  variable: 'LOCUST_PATH',
  versionArgs: ['--version'],
  install:
    'python3 -m venv locust-venv && locust-venv/bin/pip install locust, then LOCUST_PATH=locust-venv/bin/locust.',
};

/** The path; undefined where there is no such program. A path that is named and does not work is an error. */
export function findProgram({ name, variable, versionArgs, install }: Program): string | undefined {
  const named = process.env[variable];
  const path = named ?? name;
  try {
    // wrk ends with 1 after it has printed its version.
    execFileSync(path, versionArgs, { stdio: 'ignore' });
  } catch (error) {
    const { status } = error as { status?: number | null };
    if (typeof status === 'number') return path;
    if (named === undefined) return undefined;
    throw new UsageError(`${variable}: expected the path of ${name}, got '${named}'. To get it: ${install}`, {
      cause: error,
    });
  }
  return path;
}

export function missingText({ name, install }: Program): string {
  return `${name} was not found, and its row is left out. To get it: ${install}`;
}
