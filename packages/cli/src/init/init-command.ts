/** `batchwise init`: creates the files of a new service. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { versionOf } from '../program.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { Failure, messageOf } from '../terminal/failure.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import type { Terminal } from '../terminal/terminal.js';
import { CONFIG, packageJson, SERVICE, TEST, TSCONFIG } from './templates.js';

const FOOTER: HelpFooter = {
  examples: ['batchwise init', 'batchwise init my-service'],
  notes: [
    'Creates service.ts, batchwise.yaml and service.test.mjs, and where they do not exist package.json and ' +
      'tsconfig.json. No file is overwritten: if one of the first three exists, the command creates nothing.',
  ],
  exitCodes: { 0: 'created', 1: 'a file exists, or the folder is not writable' },
};

const SEND = `curl -s localhost:3000/count -d '{"text": "three short words"}'`;

export function setUpInit(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description('Creates a service, its configuration file and a test.')
    .argument('[folder]', 'folder of the service (default: the working directory)')
    .usage('[folder]');
  finishHelp(command, FOOTER).action(async (folder: string | undefined) => {
    await init(folder ?? '', terminal);
    exit(EXIT_CODES.ok);
  });
}

async function init(folder: string, terminal: Terminal): Promise<void> {
  const exists = (name: string) => existsSync(join(folder, name));
  const isNew = !exists('package.json');
  const files = [
    { name: 'service.ts', text: SERVICE, purpose: 'one runner and one route' },
    { name: 'batchwise.yaml', text: CONFIG, purpose: 'settings of the server' },
    { name: 'service.test.mjs', text: TEST, purpose: 'a test' },
  ];
  const existing = files.map(({ name }) => name).filter(exists);
  if (existing.length > 0) {
    const verb = existing.length === 1 ? 'exists' : 'exist';
    throw new Failure(
      `${existing.map((name) => join(folder, name)).join(', ')} already ${verb}. Nothing was created.`,
    );
  }
  if (isNew)
    files.push({
      name: 'package.json',
      text: packageJson(packageName(folder), versionOf()),
      purpose: 'dependencies',
    });
  if (!exists('tsconfig.json'))
    files.push({ name: 'tsconfig.json', text: TSCONFIG, purpose: 'settings of TypeScript' });
  try {
    await mkdir(resolve(folder), { recursive: true });
    // `wx`: fails for a file that was created meanwhile.
    for (const { name, text } of files) await writeFile(join(folder, name), text, { flag: 'wx' });
  } catch (error) {
    throw new Failure(`The files cannot be created: ${messageOf(error)}.`, { cause: error });
  }
  const { stdout, env } = terminal;
  const { heading, faint } = paletteFor(stdout, env);
  const created = files.map(({ name, purpose }) => `  ${name.padEnd(18)}${faint(purpose)}`);
  const commands = isNew
    ? ['npm install', 'npm test', 'npm start']
    : ['npm install @batchwise/cli @batchwise/server batchwise zod', 'node --test', 'npx batchwise serve'];
  const next = [...(folder === '' ? [] : [`cd ${shellWord(folder)}`]), ...commands, SEND];
  stdout.write(
    [heading('Created:'), ...created, '', heading('Next:'), ...next.map((line) => `  ${line}`), ''].join(
      '\n',
    ),
  );
}

/** A name that npm accepts. */
function packageName(folder: string): string {
  const name = basename(resolve(folder)).toLowerCase();
  return name.replace(/[^a-z0-9._-]+/g, '-').replace(/^[-._]+|-+$/g, '') || 'service';
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
