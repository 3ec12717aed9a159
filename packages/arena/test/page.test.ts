import { beforeAll, describe, expect, test } from 'vitest';
import { type ArenaPageData, arenaPage } from '../src/page/arena-page.js';
import type { Showcase } from '../src/page/showcase.js';
import { smallShowcase } from './support/small-showcase.js';
import { parsePlot, parseXml } from './support/well-formed.js';

let showcase: Showcase;
let data: ArenaPageData;

beforeAll(async () => {
  showcase = await smallShowcase();
  data = {
    showcase,
    targets: [
      {
        number: 1,
        what: 'mean ÷ optimum',
        goal: '≤ 1.01',
        measured: '1.004',
        worst: 'a, ρ 0.9',
        reached: true,
      },
      {
        number: 2,
        what: 'mean ÷ best',
        goal: '≤ 1.04',
        measured: '1.068',
        worst: 'd, ρ 0.8',
        reached: false,
      },
    ],
    families: [
      { family: 'Poisson', cells: 12, toBound: 1.004, toBestPeer: 0.9, worstCell: 'a' },
      { family: 'Goodput', cells: 3, toBound: undefined, toBestPeer: 0.9, worstCell: 'b', better: 'higher' },
      {
        family: 'Even',
        cells: 3,
        toBound: Number.NaN,
        toBestPeer: 1.001,
        worstCell: 'c',
        bestPeer: 'greedy',
      },
    ],
    facts: [{ name: 'Seeds', value: '101–105' }],
  };
});

/** The first table row with this text. */
function row(page: string, text: string): string {
  return /<tr>(?:(?!<\/tr>).)*?<\/tr>/gs[Symbol.match](page)?.find((one) => one.includes(text)) ?? '';
}

function withoutScript(page: string): string {
  return page.replace(/<script>.*<\/script>/s, '');
}

describe('the page', () => {
  test('is the same for the same data', () => {
    expect(arenaPage(data)).toBe(arenaPage(structuredClone(data)));
  });

  test('shows which targets are reached', () => {
    const page = arenaPage(data);
    expect(page).toContain('<dd>1 of 2</dd>');
    expect(row(page, '1. mean ÷ optimum')).toContain('✓ reached');
    expect(row(page, '2. mean ÷ best')).toContain('✗ not reached');
  });

  test('shows whether a ratio is better or worse, for latency and goodput', () => {
    const page = arenaPage(data);
    expect(row(page, 'Poisson')).toContain('▲ 0.900');
    expect(row(page, 'Goodput')).toContain('▼ 0.900');
    expect(row(page, 'Even')).toMatch(/<span class="ratio">1\.001<\/span>.*\(greedy\)/);
    expect(row(page, 'Even')).toContain('–');
  });

  test('loads nothing', () => {
    const page = arenaPage(data)
      .replaceAll('xmlns="http://www.w3.org/2000/svg"', '')
      .replace("createElementNS('http://www.w3.org/2000/svg'", '');
    expect(page).not.toMatch(/https?:|\/\/\w+\.|@import|src=|<link(?! rel="icon" href="data:,">)/);
    expect(page).toContain('content="default-src &#39;none&#39;;');
  });

  test('has well-formed plots with unique ids', () => {
    const page = arenaPage(data);
    const plots = page.match(/<svg.*?<\/svg>/gs) ?? [];
    // Four charts and two timelines of two runs for each of two cells, all for wide and narrow screens.
    expect(plots).toHaveLength((4 + 4) * 2 * 2);
    for (const plot of plots) parsePlot(plot);
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is well-formed throughout', () => {
    const voids = /<(meta|link|input)([^>]*)>/g;
    const body = arenaPage(data)
      .replace('<!doctype html>\n', '')
      .replace(/<(style|script)>.*?<\/\1>/gs, '')
      .replace(/(<input[^>]*) checked>/g, '$1 checked="">')
      .replace(voids, '<$1$2/>')
      .trim();
    expect(() => parseXml(body)).not.toThrow();
  });

  test('escapes any text', () => {
    const nasty = `</style></script><script>alert(1)</script><img src=x onerror='alert(2)'>"&`;
    const [cell] = showcase.cells;
    if (cell === undefined) throw new Error('There is no cell.');
    const sweep = [
      {
        name: nasty,
        points: [
          [0.1, 1],
          [0.2, 2],
        ] as const,
      },
    ];
    const page = arenaPage({
      title: nasty,
      targets: [{ number: 1, what: nasty, goal: nasty, measured: nasty, worst: nasty, reached: false }],
      families: [
        {
          family: nasty,
          what: nasty,
          bestPeer: nasty,
          cells: 1,
          toBound: 1,
          toBestPeer: 1,
          worstCell: nasty,
        },
      ],
      facts: [{ name: nasty, value: nasty }],
      showcase: {
        contenders: [nasty],
        cells: [
          {
            ...cell,
            curve: nasty,
            title: nasty,
            about: nasty,
            meanMs: sweep,
            p99Ms: sweep,
            goodput: sweep,
            stretches: cell.stretches.map((stretch) => ({
              title: nasty,
              about: nasty,
              runs: stretch.runs.map((run) => ({ ...run, name: nasty })),
            })),
          },
        ],
      },
    });
    expect(page).not.toContain('<script>alert');
    expect(page).not.toContain('<img');
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/<\/style>/g)).toHaveLength(1);
  });

  test('omits empty sections', () => {
    const page = arenaPage({ targets: [], families: [], showcase: { contenders: [], cells: [] } });
    expect(page).not.toContain('<h2>');
    expect(withoutScript(page)).not.toContain('undefined');
  });

  test('shows lines without values', () => {
    const [cell] = showcase.cells;
    if (cell === undefined) throw new Error('There is no cell.');
    const nothing = [{ name: 'empty', points: [[0.5, Number.NaN]] as const }];
    const empty = { ...cell, meanMs: nothing, p99Ms: [], goodput: [], stretches: [] };
    const page = arenaPage({
      targets: [],
      families: [],
      showcase: { contenders: ['empty'], cells: [empty] },
    });
    expect(page).toContain('No values');
    expect(withoutScript(page)).not.toMatch(/NaN|Infinity|undefined/);
  });
});
