import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { proxyReference } from '../src/proxy/proxy-reference.js';
import { PROXY_GROUPS, PROXY_SETTINGS } from '../src/proxy/proxy-schema.js';

const page = (name: string) =>
  readFileSync(new URL(`../../../docs/reference/${name}`, import.meta.url), 'utf8');

describe('docs/reference/proxy.md', () => {
  test.each(PROXY_GROUPS)('has the settings of $title as the schema has them', (group) => {
    expect(page('proxy.md')).toContain(`## ${group.title}\n`);
    expect(page('proxy.md')).toContain(proxyReference(group));
  });
});

test('every flag is in docs/reference/cli.md', () => {
  const flags = PROXY_SETTINGS.flatMap(({ flag }) =>
    flag === undefined ? [] : flag.split(' ')[0]?.replace(/,$/, ''),
  );
  expect(flags.filter((flag) => !page('cli.md').includes(`\`${flag}`))).toEqual([]);
});
