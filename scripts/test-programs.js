/** The programs that the system tests drive, and where they are on this machine. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * @typedef {object} TestProgram
 * @property {string} title How messages call it.
 * @property {string} variable The environment variable that says where it is.
 * @property {readonly string[]} commands The names it goes by, in the order of preference.
 * @property {string} debianPackage
 */

export const testPrograms = Object.freeze({
  chromium: {
    title: 'Chromium',
    variable: 'CHROMIUM_PATH',
    commands: ['chromium', 'chromium-browser', 'google-chrome'],
    debianPackage: 'chromium',
  },
});

/**
 * The file that its variable names, else the first of its commands on PATH, else undefined.
 *
 * @param {TestProgram} program
 * @returns {string | undefined}
 */
export function findProgram({ variable, commands }) {
  const named = process.env[variable];
  if (named && isExecutable(named)) return named;
  for (const command of commands) {
    const path = findCommand(command);
    if (path !== undefined) return path;
  }
  return undefined;
}

/**
 * @param {string} command
 * @returns {string | undefined}
 */
export function findCommand(command) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
