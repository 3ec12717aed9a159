/**
 * Makes sure that the programs of the system tests are there; `npm test` begins with it. Prints nothing when they are.
 * A missing one is installed from Debian's packages where that is possible; elsewhere a message says what to do.
 *
 *     node scripts/test-requirements.js [names of testPrograms, for an example that needs only these]
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  findCommand,
  findProgram,
  testPrograms,
  unpackedProgram,
  unpackedPrograms,
} from './test-programs.js';

/** @typedef {import('./test-programs.js').TestProgram} TestProgram */

const names = process.argv.slice(2);
const needs = names.length === 0 ? 'The tests need' : 'The example needs';
const missing = missingPrograms();
if (missing.length > 0) process.exitCode = provide(missing) ? 0 : 1;

/**
 * Those that a link is all that lacks get it.
 *
 * @returns {TestProgram[]}
 */
function missingPrograms() {
  const isMissing = (/** @type {TestProgram} */ program) => findProgram(program) === undefined;
  const programs = Object.entries(testPrograms)
    .filter(([name]) => names.length === 0 || names.includes(name))
    .map(([, program]) => program)
    .filter(isMissing);
  for (const program of programs) link(program);
  return programs.filter(isMissing);
}

/** @param {TestProgram} program */
function link(program) {
  const target = program.linkedCommand && findCommand(program.linkedCommand);
  if (!target) return;
  mkdirSync(unpackedPrograms, { recursive: true });
  const place = unpackedProgram(program);
  // One that is there leads nowhere, or its program would not be missing.
  rmSync(place, { force: true });
  symlinkSync(target, place);
}

/** @param {TestProgram[]} programs */
function provide(programs) {
  const aptGet = findCommand('apt-get');
  const asRoot = rootPrefix();
  if (aptGet === undefined || asRoot === undefined) return explain(programs);

  const isUnpacked = (/** @type {TestProgram} */ program) =>
    program.packagedFile !== undefined || program.packagedTree !== undefined;
  const installed = programs.filter((program) => !isUnpacked(program));
  const unpacked = programs.filter(isUnpacked);
  console.log(`${needs} ${titles(programs)}: ${plan(installed, unpacked)} with apt-get, a minute or so.`);
  const options = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  const apt = [...asRoot, aptGet, ...options];
  const installOptions = installed.flatMap(({ aptOptions = [] }) =>
    aptOptions.flatMap((option) => ['-o', option]),
  );
  const done =
    succeeds([...apt, 'update']) &&
    (installed.length === 0 ||
      succeeds([
        ...apt,
        ...installOptions,
        'install',
        '--yes',
        '--no-install-recommends',
        ...packages(installed),
      ])) &&
    unpacked.every((program) => unpack(program, [aptGet, ...options]));
  const stillMissing = missingPrograms();
  return done && stillMissing.length === 0 ? true : explain(stillMissing);
}

/**
 * Takes one file, or everything, out of packages that are not installed.
 *
 * @param {TestProgram} program
 * @param {string[]} apt
 */
function unpack(program, apt) {
  const { commands, packagedFile } = program;
  mkdirSync(unpackedPrograms, { recursive: true });
  // Beside where it is going to be, so that it gets there by being renamed: all of it or nothing.
  const folder = mkdtempSync(join(unpackedPrograms, 'unpacking-'));
  try {
    if (!succeeds([...apt, 'download', ...packages([program])], folder)) return false;
    for (const archive of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      if (!succeeds(['dpkg-deb', '--extract', archive, 'tree'], folder)) return false;
    }
    const place = join(unpackedPrograms, commands[0] ?? '');
    // What is there is of no use, or its program would not be missing.
    rmSync(place, { recursive: true, force: true });
    renameSync(join(folder, 'tree', packagedFile ?? ''), place);
    return true;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What goes before a command that only root may run; undefined when there is no way. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  const sudo = findCommand('sudo');
  // sudo passes no variables on, so the one that silences debconf goes on its command line.
  return sudo === undefined ? undefined : [sudo, 'env', 'DEBIAN_FRONTEND=noninteractive'];
}

/**
 * Runs a command and shows what it printed only if it failed.
 *
 * @param {string[]} commandLine
 * @param {string} [cwd]
 */
function succeeds([command = '', ...args], cwd) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return true;
  console.error(
    `${[command, ...args].join(' ')} failed${error ? `: ${error.message}` : ''}\n${stdout}${stderr}`,
  );
  return false;
}

/** @param {TestProgram[]} programs */
function explain(programs) {
  for (const program of programs) {
    const { title, variable, commands, pythonModules } = program;
    const lack = pythonModules
      ? `no ${commands.join(' or ')} on PATH can import ${pythonModules.join(', ')}`
      : `none of ${commands.join(', ')} is on PATH`;
    console.error(
      `${needs} ${title}, and ${lack}. Install it ` +
        `(on Debian: apt-get install ${packages([program]).join(' ')}) or set ${variable} to its executable.`,
    );
  }
  return false;
}

/** @param {TestProgram[]} programs */
function titles(programs) {
  return programs.map(({ title }) => title).join(' and ');
}

/**
 * Each once, for several programs may be in one.
 *
 * @param {TestProgram[]} programs
 */
function packages(programs) {
  return [
    ...new Set(programs.flatMap(({ debianPackage, alsoPackages = [] }) => [debianPackage, ...alsoPackages])),
  ];
}

/**
 * @param {TestProgram[]} installed
 * @param {TestProgram[]} unpacked
 */
function plan(installed, unpacked) {
  const steps = [];
  if (installed.length > 0) steps.push(`installing ${packages(installed).join(' ')}`);
  if (unpacked.length > 0) steps.push(`unpacking ${packages(unpacked).join(' ')}`);
  return steps.join(' and ');
}
