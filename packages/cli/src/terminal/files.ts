/** Reads and writes the files of flags; errors name the flag. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure, messageOf } from './failure.js';

export async function readNamedFile(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Failure(`${flag}: ${reasonOf(error, path, 'read')}`, { cause: error });
  }
}

export async function writeNamedFile(flag: string, path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new Failure(`${flag}: ${reasonOf(error, path, 'written')}`, { cause: error });
  }
}

/** Checks before long work that the folder of an output file exists. */
export async function checkFolderOf(flag: string, path: string): Promise<void> {
  try {
    await stat(dirname(path));
  } catch (error) {
    throw new Failure(`${flag}: ${reasonOf(error, path, 'written')}`, { cause: error });
  }
}

function reasonOf(error: unknown, path: string, done: 'read' | 'written'): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return done === 'read' ? `there is no file ${path}.` : `there is no folder for ${path}.`;
    case 'EISDIR':
      return `${path} is a folder.`;
    case 'EACCES':
      return `${path} may not be ${done}.`;
    default:
      return `${path} cannot be ${done}: ${messageOf(error)}`;
  }
}
