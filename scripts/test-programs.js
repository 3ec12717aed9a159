/** The programs that the system tests drive, and where they are on this machine. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} TestProgram
 * @property {string} title How messages call it.
 * @property {string} variable The environment variable that says where it is.
 * @property {readonly string[]} commands The names it goes by, in the order of preference.
 * @property {string} debianPackage
 * @property {readonly string[]} [alsoPackages] What else it takes from Debian.
 * @property {readonly string[]} [pythonModules] What it must be able to import, being a Python: there may be several
 *   on a machine, and the first on PATH need not be Debian's.
 * @property {string} [packagedFile] Where it is in the package, when it is taken out by itself: the rest would
 *   bring a service that starts with the machine.
 * @property {string} [linkedCommand] The command in its package that is this program if called by this
 *   program's name, and is given a link of that name: the package that has one would bring such a service, too.
 * @property {string} [packagedTree] Where it is in the folder into which its packages are unpacked, all of them and
 *   whole: installed, they would bring services that start with the machine.
 * @property {string} [versionsFolder] Where its package has one folder per version, each with a folder `bin`.
 * @property {readonly string[]} [aptOptions] Options of apt-get when its package is installed.
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
  python: {
    title: 'Python with gRPC, numpy, scikit-learn and pytest',
    variable: 'PYTHON_PATH',
    commands: ['python3'],
    debianPackage: 'python3-grpcio',
    // scikit-learn brings numpy and joblib.
    alsoPackages: ['python3-numpy', 'python3-protobuf', 'python3-pytest', 'python3-sklearn'],
    pythonModules: ['grpc', 'numpy', 'google.protobuf', 'sklearn', 'joblib', 'pytest'],
  },
  postgres: {
    title: 'PostgreSQL',
    variable: 'POSTGRES_PATH',
    commands: ['postgres'],
    debianPackage: 'postgresql',
    versionsFolder: '/usr/lib/postgresql',
    // Without this file, the package would create a database and start a service for it.
    aptOptions: [
      'DPkg::Pre-Invoke::=mkdir -p /etc/postgresql-common/createcluster.d; echo create_main_cluster = false > /etc/postgresql-common/createcluster.d/batchwise-tests.conf',
      'DPkg::Post-Invoke::=rm -f /etc/postgresql-common/createcluster.d/batchwise-tests.conf',
    ],
  },
  rabbitmq: {
    title: 'RabbitMQ',
    variable: 'RABBITMQ_SERVER_PATH',
    commands: ['rabbitmq-server'],
    debianPackage: 'rabbitmq-server',
    alsoPackages: [
      'erlang-base',
      'erlang-asn1',
      'erlang-crypto',
      'erlang-eldap',
      'erlang-inets',
      'erlang-mnesia',
      'erlang-os-mon',
      'erlang-parsetools',
      'erlang-public-key',
      'erlang-runtime-tools',
      'erlang-ssl',
      'erlang-syntax-tools',
      'erlang-tools',
      'erlang-xmerl',
    ],
    packagedTree: 'usr/lib/rabbitmq/bin/rabbitmq-server',
  },
});

/**
 * The file that its variable names, else the first of its commands on PATH, else the one of its newest version, else
 * what was taken out of its package or linked to, else undefined.
 *
 * @param {TestProgram} program
 * @returns {string | undefined}
 */
export function findProgram(program) {
  const { variable, commands, pythonModules = [] } = program;
  const named = process.env[variable];
  const places = [
    ...(named ? [named] : []),
    ...commands.flatMap(placesOnPath),
    ...placesByVersion(program),
    unpackedProgram(program),
  ];
  return places.find((place) => isExecutable(place) && canImport(place, pythonModules));
}

/**
 * Where it is when it was taken out of its package or linked to.
 *
 * @param {TestProgram} program
 */
export function unpackedProgram({ commands: [name = ''], packagedTree = '' }) {
  return join(unpackedPrograms, name, packagedTree);
}

/**
 * @param {string} command
 * @returns {string | undefined}
 */
export function findCommand(command) {
  return placesOnPath(command).find(isExecutable);
}

/** @param {string} command */
function placesOnPath(command) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, command));
}

/**
 * The newest version first.
 *
 * @param {TestProgram} program
 */
function placesByVersion({ commands, versionsFolder }) {
  if (versionsFolder === undefined) return [];
  try {
    const versions = readdirSync(versionsFolder).sort((a, b) => Number(b) - Number(a));
    return versions.flatMap((version) => commands.map((name) => join(versionsFolder, version, 'bin', name)));
  } catch {
    return []; // not installed
  }
}

/**
 * @param {string} python
 * @param {readonly string[]} modules
 */
function canImport(python, modules) {
  if (modules.length === 0) return true;
  return spawnSync(python, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' }).status === 0;
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

/**
 * For examples: installs the program where it is missing and that is possible, and ends this process where it is not.
 *
 * @param {keyof typeof testPrograms} name
 */
export function provideProgram(name) {
  const script = fileURLToPath(new URL('test-requirements.js', import.meta.url));
  const { status } = spawnSync(process.execPath, [script, name], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
