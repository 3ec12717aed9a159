import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { docs, migration, rewrites, sidebar } from './contents.js';
import { repository, repositoryLinks } from './repository-links.js';

const { version } = JSON.parse(readFileSync(join(docs, '../packages/core/package.json'), 'utf8'));

/** Three items, one batch. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0a54d6"/>' +
  '<path d="M6 8h7v4H6zm0 6h7v4H6zm0 6h7v4H6zm10-12h10v16H16z" fill="#fff"/></svg>';

// biome-ignore lint/style/noDefaultExport: VitePress reads it.
export default defineConfig({
  title: 'Batchwise',
  description: 'Adaptive request batching: many callers, one item each, one batch for the backend.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  cleanUrls: true,
  rewrites: { ...rewrites },
  // Links to servers that a reader starts.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify: githubSlug },
    // There is no grammar of PromQL; strings, numbers, calls and comments look the same.
    languageAlias: { promql: 'python' },
    config: (md) => md.use(repositoryLinks),
  },
  // Its table has ten columns.
  transformPageData: ({ relativePath }) =>
    relativePath === 'comparison.md' ? { frontmatter: { aside: false } } : undefined,
  themeConfig: {
    nav: [
      { text: 'Guides', link: '/contents#guides', activeMatch: '^/(contents|guides/(?!coming-from))' },
      { text: 'Reference', link: '/contents#reference', activeMatch: '^/reference/' },
      { text: 'Migration', items: [...migration], activeMatch: '^/guides/coming-from' },
      { text: 'Decisions', link: '/decisions/', activeMatch: '^/decisions/' },
      { text: 'Architecture', link: '/architecture' },
    ],
    sidebar: Object.fromEntries(
      Object.entries(sidebar).map(([path, groups]) => [
        path,
        groups.map(({ text, items }) => ({ text, items: [...items] })),
      ]),
    ),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    footer: {
      message: `<a href="${repository}/blob/main/LICENSE">MIT licence</a>`,
      copyright: `Batchwise ${version}`,
    },
  },
});

/** The anchor that GitHub gives a heading, so that the same link works there and here. */
function githubSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}
