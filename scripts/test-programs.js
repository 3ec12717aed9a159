/** The programs that the system tests drive, and where they are on this machine. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} TestProgram
 * @property {string} title How messages call it.
 * @property {string} variable The environment variable that says where it is.
 * @property {readonly string[]} commands The names it goes by, in the order of preference.
 * @property {string} debianPackage
 * @property {string} [packagedFile] Where it is in the package, when it is taken out by itself: the rest would
 *   bring a service that starts with the machine.
 * @property {string} [linkedCommand] The command in its package that is this program if called by this
 *   program's name, and is given a link of that name: the package that has one would bring such a service, too.
 */

/** Where programs are that were taken out of their packages or linked to, by the first of their commands. */
export const unpackedPrograms =
  process.env.TEST_PROGRAMS_FOLDER ??
  fileURLToPath(new URL('../node_modules/.cache/test-programs', import.meta.url));

export const testPrograms = Object.freeze({
  chromium: {
    title: 'Chromium',
    variable: 'CHROMIUM_PATH',
    commands: ['chromium', 'chromium-browser', 'google-chrome'],
    debianPackage: 'chromium',
  },
  promtool: {
    title: 'promtool',
    variable: 'PROMTOOL_PATH',
    commands: ['promtool'],
    debianPackage: 'prometheus',
    packagedFile: 'usr/bin/promtool',
  },
  redisServer: {
    title: 'redis-server',
    variable: 'REDIS_SERVER_PATH',
    commands: ['redis-server'],
    debianPackage: 'redis-tools',
    linkedCommand: 'redis-check-rdb',
  },
  redisCli: {
    title: 'redis-cli',
    variable: 'REDIS_CLI_PATH',
    commands: ['redis-cli'],
    debianPackage: 'redis-tools',
  },
});

/**
 * The file that its variable names, else the first of its commands on PATH, else what was taken out of its
 * package or linked to, else undefined.
 *
 * @param {TestProgram} program
 * @returns {string | undefined}
 */
export function findProgram(program) {
  const { variable, commands } = program;
  const named = process.env[variable];
  if (named && isExecutable(named)) return named;
  for (const command of commands) {
    const path = findCommand(command);
    if (path !== undefined) return path;
  }
  const unpacked = unpackedProgram(program);
  return isExecutable(unpacked) ? unpacked : undefined;
}

/**
 * Where it is when it was taken out of its package or linked to.
 *
 * @param {TestProgram} program
 */
export function unpackedProgram({ commands: [name = ''] }) {
  return join(unpackedPrograms, name);
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
