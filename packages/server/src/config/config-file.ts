/** Finds and reads the file of the configuration. What goes wrong is told with who named it. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError } from './config-error.js';
import type { Origin } from './setting-origin.js';

export const DEFAULT_FILE = 'batchwise.yaml';
export const FILE_VARIABLE = 'BATCHWISE_CONFIG';

/** Nobody writes so many settings by hand. */
const MOST_BYTES = 2 ** 20;

export interface ConfigFile {
  /** As it was named: what messages call it. */
  readonly name: string;
  readonly text: string;
  /** What relative paths in it start from; empty when that is the working directory. */
  readonly folder: string;
}

export interface FileChoice {
  readonly cwd: string;
  /** Of the flag. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Undefined if no file is given and the default file does not exist. */
export function readConfigFile({ cwd, file, env }: FileChoice): ConfigFile | undefined {
  const fromVariable = env[FILE_VARIABLE] || undefined;
  const name = file ?? fromVariable ?? DEFAULT_FILE;
  const origin = originOf(file, fromVariable);
  if (name === '')
    throw new ConfigError([{ origin, path: '', message: 'expected the name of a file, got an empty one.' }]);
  try {
    return { name, text: readText(resolve(cwd, name)), folder: folderOf(name) };
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    if (origin === undefined && !isThere) return undefined;
    throw new ConfigError([{ origin, path: '', message: reasonOf(error, name) }], { cause: error });
  }
}

function originOf(flag: string | undefined, variable: string | undefined): Origin | undefined {
  if (flag !== undefined) return { kind: 'flag', flag: '--config' };
  return variable === undefined ? undefined : { kind: 'environment', variable: FILE_VARIABLE };
}

function folderOf(name: string): string {
  const folder = dirname(name);
  return folder === '.' ? '' : folder;
}

/** What came out of pipes, by their paths: they give it only once, and settings are read again and again. */
const piped = new Map<string, string>();

function readText(path: string): string {
  const known = piped.get(path);
  if (known !== undefined) return known;
  const stats = statSync(path);
  if (stats.size > MOST_BYTES) throw new TooLarge();
  const bytes = readFileSync(path);
  // Again: what is no plain file tells no size.
  if (bytes.length > MOST_BYTES) throw new TooLarge();
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  if (!stats.isFile()) piped.set(path, text);
  return text;
}

class TooLarge extends Error {}

function reasonOf(error: unknown, name: string): string {
  if (error instanceof TooLarge) return `${name} is larger than 1 MiB, the limit of a configuration file.`;
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return `there is no file ${name}.`;
    case 'EISDIR':
      return `${name} is a folder, expected a file.`;
    case 'ENOTDIR':
      return `there is no file ${name}: a part of its path is not a folder.`;
    case 'EACCES':
    case 'EPERM':
      return `permission to read ${name} denied.`;
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return `${name} is not UTF-8 text.`;
    default:
      return `${name} cannot be read: ${message}`;
  }
}
