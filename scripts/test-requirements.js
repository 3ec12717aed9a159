/**
 * Makes sure that the programs the system tests drive are there; `npm test` begins with it. Says
 * nothing when they are. When one is missing it is installed from Debian's packages where that is
 * possible; elsewhere this ends with a word on what to do.
 */
import { spawnSync } from 'node:child_process';
import { findCommand, findProgram, testPrograms } from './test-programs.js';

/** @typedef {import('./test-programs.js').TestProgram} TestProgram */

const missing = missingPrograms();
if (missing.length > 0) process.exitCode = provide(missing) ? 0 : 1;

/** @returns {TestProgram[]} */
function missingPrograms() {
  return Object.values(testPrograms).filter((program) => findProgram(program) === undefined);
}

/** @param {TestProgram[]} programs */
function provide(programs) {
  const aptGet = findCommand('apt-get');
  const asRoot = rootPrefix();
  if (aptGet === undefined || asRoot === undefined) return explain(programs);

  const packages = programs.map(({ debianPackage }) => debianPackage);
  console.log(
    `The tests need ${titles(programs)}: installing ${packages.join(' ')} with apt-get, a minute or so.`,
  );
  const apt = [...asRoot, aptGet, '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  const done =
    succeeds([...apt, 'update']) &&
    succeeds([...apt, 'install', '--yes', '--no-install-recommends', ...packages]);
  const stillMissing = missingPrograms();
  return done && stillMissing.length === 0 ? true : explain(stillMissing);
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
 */
function succeeds([command = '', ...args]) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
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
  for (const { title, variable, commands, debianPackage } of programs) {
    console.error(
      `The tests need ${title}, and none of ${commands.join(', ')} is on PATH. Install it ` +
        `(on Debian: apt-get install ${debianPackage}) or set ${variable} to its executable.`,
    );
  }
  return false;
}

/** @param {TestProgram[]} programs */
function titles(programs) {
  return programs.map(({ title }) => title).join(' and ');
}
