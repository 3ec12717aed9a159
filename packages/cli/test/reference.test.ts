/**
 * Compares the generated parts of docs/reference with the source. To update the pages:
 *
 *   npx vitest run --project unit packages/cli/test/reference.test.ts -u
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { loadProgram } from '../src/program.js';
import { PROXY_GROUPS } from '../src/proxy/proxy-schema.js';
import { commandList, commandReference } from './support/cli-reference.js';
import { fakeTerminal } from './support/fake-terminal.js';
import { proxyReference } from './support/proxy-reference.js';

const program = await loadProgram('all', fakeTerminal());
const commands = new Map(subcommands(program));

test('docs/reference/cli.md is up to date', async () => {
  const parts = new Map([...commands].map(([path, command]) => [path, commandReference(command)]));
  await expectPage('cli.md', parts.set('commands', commandList(program)));
});

test('docs/reference/proxy.md is up to date', async () => {
  await expectPage('proxy.md', new Map(PROXY_GROUPS.map((group) => [group.title, proxyReference(group)])));
});

/** `load knee`; without commands that only have subcommands. */
function subcommands(command: Command, parent = ''): [string, Command][] {
  return command.commands.flatMap((each): [string, Command][] => {
    const path = `${parent} ${each.name()}`.trim();
    const own: [string, Command][] = each.name() === 'queue' ? [] : [[path, each]];
    return [...own, ...subcommands(each, path)];
  });
}

/** A part is between `<!-- generated: name -->` and `<!-- end -->`. */
async function expectPage(name: string, parts: ReadonlyMap<string, string>): Promise<void> {
  const path = fileURLToPath(new URL(`../../../docs/reference/${name}`, import.meta.url));
  const found: string[] = [];
  const page = readFileSync(path, 'utf8').replace(
    /(<!-- generated: (.*) -->\n)[\s\S]*?(\n<!-- end -->)/g,
    (_, start: string, part: string, end: string) => {
      found.push(part);
      return `${start}\n${parts.get(part)}\n${end}`;
    },
  );
  expect(found.sort()).toEqual([...parts.keys()].sort());
  await expect(page).toMatchFileSnapshot(path);
}
