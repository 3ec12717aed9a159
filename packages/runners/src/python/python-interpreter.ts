/** Finds the Python interpreter of a model. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `setting` is an interpreter, or the folder of a virtual environment. Without it: the active virtual environment, then
 * `.venv` next to the model, then `python3`.
 */
export function findInterpreter(
  setting: string | undefined,
  modelFile: string,
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (setting !== undefined) return isFolder(setting) ? join(resolve(setting), 'bin', 'python') : setting;
  const nextToModel = join(dirname(resolve(modelFile)), '.venv');
  for (const folder of [env.VIRTUAL_ENV, nextToModel]) {
    if (folder && existsSync(join(folder, 'bin', 'python'))) return join(folder, 'bin', 'python');
  }
  return 'python3';
}

/** How to select another interpreter, for messages about one that does not work. */
export function interpreterAdvice(python: string): string {
  const [, folder] = /^(.+)\/bin\/python$/.exec(python) ?? [];
  const command = `python3 -m venv ${folder ?? '.venv'}`;
  return (
    `Install Python 3.9 or newer, create a virtual environment (${command}), or select another one: ` +
    'BATCHWISE__RUNNERS__PYTHON=<interpreter or folder>, `runners: { python: <interpreter or folder> }` in the ' +
    'configuration file of `batchwise serve`, or `--python <interpreter or folder>` of `batchwise worker`.'
  );
}

/** The Python package that runs models: in the root of the repository, or in the installed package. */
export function packageFolder(): string {
  const places = ['../../../../python', '../../python'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return places.find((place) => existsSync(join(place, 'batchwise', '__main__.py'))) ?? (places[1] as string);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
