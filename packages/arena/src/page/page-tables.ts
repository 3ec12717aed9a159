/** The tables of the arena's page; on narrow screens rows become blocks of labelled values. */
import type { FamilyFigure, TargetFigure } from './arena-page.js';
import { html, type Markup } from './page-document.js';

export function targetsTable(targets: readonly TargetFigure[]): Markup {
  return html`<div class="card table"><table class="stacks">
<thead><tr><th>Target</th><th>Goal</th><th>Measured</th><th>Worst cell</th><th></th></tr></thead>
<tbody>${targets.map(targetRow)}</tbody></table></div>`;
}

function targetRow({ number, what, goal, measured, worst, reached }: TargetFigure): Markup {
  const badge = reached
    ? html`<span class="badge reached">✓ reached</span>`
    : html`<span class="badge missed">✗ not reached</span>`;
  return html`<tr><th scope="row">${number}. ${what}</th><td data-label="Goal">${goal}</td
><td data-label="Measured">${measured}</td><td data-label="Worst cell">${worst}</td
><td class="verdict">${badge}</td></tr>
`;
}

export function familiesTable(families: readonly FamilyFigure[]): Markup {
  return html`<div class="card table"><table class="stacks">
<thead><tr><th>Family</th><th class="number">Cells</th><th class="number">Ours ÷ bound</th
><th class="number">Ours ÷ best peer</th><th>Worst cell</th></tr></thead>
<tbody>${families.map(familyRow)}</tbody></table></div>`;
}

function familyRow(figure: FamilyFigure): Markup {
  const { family, what, cells, toBound, toBestPeer, bestPeer, worstCell, better = 'lower' } = figure;
  const peer = bestPeer === undefined ? undefined : html` <span class="quiet">(${bestPeer})</span>`;
  return html`<tr><th scope="row">${family}${what === undefined ? undefined : html` <span class="quiet">${what}</span>`}</th
><td class="number" data-label="Cells">${cells}</td
><td class="number" data-label="Ours ÷ bound"><span>${written(toBound)}</span></td
><td class="number" data-label="Ours ÷ best peer"><span>${ratio(toBestPeer, better)}${peer}</span></td
><td data-label="Worst cell">${worstCell}</td></tr>
`;
}

/** Ratios this close to 1 count as equal. */
const EQUAL = 0.01;

function ratio(value: number | undefined, better: 'lower' | 'higher'): Markup {
  if (value === undefined || !Number.isFinite(value)) return html`–`;
  const gain = better === 'lower' ? 1 - value : value - 1;
  if (Math.abs(gain) <= EQUAL) return html`<span class="ratio">${written(value)}</span>`;
  const word = gain > 0 ? 'better' : 'worse';
  return html`<span class="ratio ${word}" title="${word}">${gain > 0 ? '▲' : '▼'} ${written(value)}</span>`;
}

function written(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3);
}
