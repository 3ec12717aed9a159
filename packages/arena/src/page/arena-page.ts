/**
 * The report of the arena as one self-contained HTML file, readable without scripts. A pure function of its data.
 */

import { html, type Markup, pageDocument } from './page-document.js';
import { panel } from './page-panels.js';
import { familiesTable, targetsTable } from './page-tables.js';
import type { Showcase } from './showcase.js';

/** One goal of a target. */
export interface TargetFigure {
  readonly number: number;
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** The worst cell and its value. */
  readonly worst: string;
  readonly reached: boolean;
}

/** The averages of a family of cells. */
export interface FamilyFigure {
  readonly family: string;
  /** The measured quantity. */
  readonly what?: string;
  readonly cells: number;
  /** Means over the cells of adaptive ÷ bound and adaptive ÷ peer; undefined where there is none. */
  readonly toBound: number | undefined;
  readonly toBestPeer: number | undefined;
  /** The name of the best peer, if it is the same in all cells. */
  readonly bestPeer?: string;
  readonly worstCell: string;
  /** Whether a lower or a higher figure is better: latency or goodput. @default 'lower' */
  readonly better?: 'lower' | 'higher';
}

export interface ArenaPageData {
  /** @default 'The Batchwise arena' */
  readonly title?: string;
  readonly targets: readonly TargetFigure[];
  readonly families: readonly FamilyFigure[];
  readonly showcase: Showcase;
  /** Further facts of the run: cells, seeds, version. */
  readonly facts?: readonly { readonly name: string; readonly value: string }[];
}

export function arenaPage(data: ArenaPageData): string {
  const { title = 'The Batchwise arena', targets, families, showcase } = data;
  return pageDocument(
    title,
    html`<header class="top">
<h1>${title}</h1>
<p class="lead">Batching policies compared. The production batcher runs on virtual time with each policy, with the same
arrivals and the same backends. The same seed gives the same figures on every machine.</p>
${facts(data)}
</header>
<main>
${targets.length === 0 ? undefined : section('Targets', 'Each figure is a ratio to a bound, or to the best peer in the same cell.', targetsTable(targets))}
${families.length === 0 ? undefined : section('Families of cells', 'Averages over the cells of a family: 1 is as good as the bound, or as the best peer in the same cell.', familiesTable(families))}
${showcase.cells.length === 0 ? undefined : plots(showcase)}
</main>
<footer><p>Written by <code>batchwise arena --html</code>. This page is self-contained and loads nothing.</p></footer>`,
  );
}

function section(title: string, about: string, content: Markup): Markup {
  return html`<section>
<h2>${title}</h2>
<p class="quiet">${about}</p>
${content}
</section>`;
}

function facts({ targets, facts: given = [] }: ArenaPageData): Markup | undefined {
  const numbers = new Set(targets.map(({ number }) => number));
  const missed = new Set(targets.filter(({ reached }) => !reached).map(({ number }) => number));
  const reached = numbers.size - missed.size;
  const count = html`<div class="${missed.size === 0 ? 'all' : 'some'}"><dt>Targets reached</dt><dd>${reached} of ${numbers.size}</dd></div>`;
  const items = [
    ...(targets.length === 0 ? [] : [count]),
    ...given.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`),
  ];
  return items.length === 0 ? undefined : html`<dl class="facts">${items}</dl>`;
}

function plots({ contenders, cells }: Showcase): Markup {
  const curves = [...new Map(cells.map(({ curve, title }) => [curve, title])).entries()];
  const slots = [...new Set(cells.map((cell) => cell.slots))];
  const names = curves.map(([curve]) => curve);
  return section(
    'Policies compared',
    'Latency and goodput against load, and a short part of a run over time, for a few kinds of backend.',
    html`<p class="quiet with-script">Point at a plot, or use the arrow keys in it, to read its values.</p>
<div class="controls">
${choice(
  'curve',
  'Backend',
  curves.map(([, title], i) => [String(i), title]),
)}
${choice(
  'slots',
  'Slots',
  slots.map((count) => [String(count), String(count)]),
)}
</div>
${cells.map((cell) => panel(cell, contenders, names.indexOf(cell.curve)))}`,
  );
}

function choice(name: string, title: string, options: readonly (readonly [string, string])[]): Markup {
  return html`<fieldset><legend>${title}</legend>${options.map(
    ([value, label], i) =>
      html`<label><input type="radio" name="${name}" value="${value}"${i === 0 ? html` checked` : undefined}><span>${label}</span></label>`,
  )}</fieldset>`;
}
