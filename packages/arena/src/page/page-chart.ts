/** A chart in a card, in a wide and a narrow version, with its values as a table below it. */
import { type LineChartSpec, lineChart, type Series } from '../plot/line-chart.js';
import { percentileLabel, precise, readable } from '../plot/ticks.js';
import { html, Markup } from './page-document.js';

const WIDE = { width: 560, height: 380 };
const NARROW = { width: 380, height: 400 };

export function chartFigure(spec: LineChartSpec, caption: string, id: string): Markup {
  const draw = (size: { width: number; height: number }, kind: string) =>
    new Markup(lineChart({ ...spec, ...size, id: `${id}-${kind}`, styled: false, readout: true }));
  return html`<figure class="card">
<div class="wide">${draw(WIDE, 'wide')}</div>
<div class="narrow">${draw(NARROW, 'narrow')}</div>
<figcaption>${caption}</figcaption>
${spec.series.length > 1 ? valuesTable(spec) : undefined}
</figure>
`;
}

function valuesTable({ x, y, series }: LineChartSpec): Markup {
  const places = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const value = ({ points }: Series, place: number): string => {
    const found = points.find(([at]) => at === place)?.[1] ?? Number.NaN;
    return y.format === 'percent' ? (found * 100).toFixed(1) : precise(found);
  };
  const unit = y.format === 'percent' ? `${y.label}, in %` : y.label;
  return html`<details><summary>As a table</summary><div class="values" tabindex="0" role="region" aria-label="${unit}"><table>
<thead><tr><th>${x.label.replace(/ \(.*/, '')}</th>${series.map(({ name }) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${places.map((place) => html`<tr><th>${x.format === 'percentile' ? percentileLabel(place) : readable(place)}</th>${series.map((each) => html`<td>${value(each, place)}</td>`)}</tr>`)}</tbody>
</table></div></details>`;
}
