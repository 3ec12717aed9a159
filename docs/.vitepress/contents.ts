/** The navigation of the site, read from the tables of docs/README.md and docs/decisions/README.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const docs = fileURLToPath(new URL('..', import.meta.url));

/** Source files whose pages have another address. GitHub shows a README.md with its folder. */
export const rewrites: Readonly<Record<string, string>> = {
  'README.md': 'contents.md',
  'decisions/README.md': 'decisions/index.md',
};

export interface Page {
  readonly text: string;
  readonly link: string;
}

export interface Group {
  readonly text: string;
  readonly items: readonly Page[];
}

/** The address of a page: `guides/redis.md` → `/guides/redis`. */
export function addressOf(file: string): string {
  const page = rewrites[file] ?? file;
  return `/${page.replace(/\.md$/, '').replace(/(^|\/)index$/, '$1')}`;
}

/** A group for each heading of `file` that has a table: each row begins with a link to a page. */
function groupsOf(file: string): (Group & { readonly section: string })[] {
  const groups: { section: string; text: string; items: Page[] }[] = [];
  let section = '';
  for (const line of readFileSync(join(docs, file), 'utf8').split('\n')) {
    const [, level, heading = ''] = /^(##+) (.+)$/.exec(line) ?? [];
    if (level === '##') section = heading;
    if (level !== undefined) groups.push({ section, text: heading, items: [] });
    const [, text, path = ''] = /^\| \[([^\]]+)\]\(([^):#]+\.md)\)/.exec(line) ?? [];
    if (text !== undefined) groups.at(-1)?.items.push({ text, link: addressOf(join(file, '..', path)) });
  }
  return groups.filter(({ items }) => items.length > 0);
}

const contents = groupsOf('README.md');
const inSection = (...names: string[]) => contents.filter(({ section }) => names.includes(section));

const overview: Group = {
  text: 'Overview',
  items: [{ text: 'Contents', link: '/contents' }, ...inSection('Overview').flatMap(({ items }) => items)],
};

export const sidebar: Readonly<Record<string, readonly Group[]>> = {
  '/': [overview, ...inSection('Guides', 'Migration')],
  '/reference/': [overview, ...inSection('Reference')],
  '/decisions/': [overview, ...groupsOf('decisions/README.md')],
};

/** The pages of Migration, for the menu of the same name. */
export const migration: readonly Page[] = inSection('Migration').flatMap(({ items }) => items);
