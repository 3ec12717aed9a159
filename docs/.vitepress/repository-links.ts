/**
 * Links of a page work on GitHub as they are. On the site, a link to a file outside of docs/ leads to GitHub, and a
 * link to a README.md to the address of its page. The build fails if the file does not exist.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { docs, rewrites } from './contents.js';

export const repository = 'https://github.com/batchwise/batchwise';

const root = join(docs, '..');

export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    for (const { children } of tokens) {
      for (const link of children ?? []) {
        const target = link.type === 'link_open' ? link.attrGet('href') : null;
        if (target !== null) link.attrSet('href', siteLink(target, env.realPath ?? env.path));
      }
    }
  });
}

function siteLink(link: string, page: string): string {
  const [, path = '', fragment = ''] = /^([^#]*)(#.*)?$/.exec(link) ?? [];
  if (path === '' || /^([a-z]+:|\/)/.test(path)) return link;
  const file = join(dirname(page), path);
  if (!existsSync(file)) throw new Error(`${relative(root, page)} links to ${path}, which does not exist.`);
  const inDocs = relative(docs, file);
  if (!inDocs.startsWith('..') && /\.(md|svg)$/.test(file)) {
    const address = rewrites[inDocs] ?? inDocs;
    return relativeLink(page, join(docs, address)) + fragment;
  }
  const kind = statSync(file).isDirectory() ? 'tree' : 'blob';
  return `${repository}/${kind}/main/${relative(root, file)}${fragment}`;
}

function relativeLink(page: string, file: string): string {
  const path = relative(dirname(page), file);
  return path.startsWith('.') ? path : `./${path}`;
}
