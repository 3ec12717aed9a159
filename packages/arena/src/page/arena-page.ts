/**
 * The arena's report as one HTML file that needs nothing else: no network, no script to be read. A pure
 * function of its data.
 */

import { html, type Markup, pageDocument } from './page-document.js';
import { panel } from './page-panels.js';
import { familiesTable, targetsTable } from './page-tables.js';
import type { Showcase } from './showcase.js';

/** What is asked of one of the numbered targets; one that asks for several things has a figure for each. */
export interface TargetFigure {
  readonly number: number;
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  /** The cell that is furthest from the goal. */
  readonly worst: string;
  readonly reached: boolean;
}

/** A group of cells of the grid. */
export interface FamilyFigure {
  readonly family: string;
  /** What is measured, if the family's name does not say. */
  readonly what?: string;
  readonly cells: number;
  /** The means over the cells of ours ÷ theirs; undefined where there is none. */
  readonly toBound: number | undefined;
  readonly toBestPeer: number | undefined;
  /** Who that is, where it is always the same one. */
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
  /** What else a reader should know of the run: cells, seeds, version. */
  readonly facts?: readonly { readonly name: string; readonly value: string }[];
}

export function arenaPage(data: ArenaPageData): string {
  const { title = 'The Batchwise arena', targets, families, showcase } = data;
  return pageDocument(
    title,
    html`<header class="top">
<h1>${title}</h1>
<p class="lead">Who decides best when a batch leaves? The production batcher runs on virtual time, with one policy
after the other, against the same callers and the same backends. The same seed gives the same figures on every
machine.</p>
${facts(data)}
</header>
<main>
${targets.length === 0 ? undefined : section('Targets', 'Each is a ratio to what is possible, or to the best peer in the same cell.', targetsTable(targets))}
${families.length === 0 ? undefined : section('Families of cells', 'Averages over the cells of a family: 1 is as good as the bound, or as whichever peer does best in that very cell.', familiesTable(families))}
${showcase.cells.length === 0 ? undefined : plots(showcase)}
</main>
<footer><p>Written by <code>batchwise arena --html</code>. This page is complete in itself and loads nothing.</p></footer>`,
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
    'Against each other',
    'How they do as the load grows, and what a short stretch of time looks like, for a few kinds of backend.',
    html`<p class="quiet with-script">Point at a plot, or step through it with the arrow keys, to read its values.</p>
<div class="controls">
${choice(
  'curve',
  'Backend',
  curves.map(([, title], i) => [String(i), title]),
)}
${choice(
  'slots',
  'Batches at a time',
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
