/** What the page of a report has beyond the style of all pages. */
export const REPORT_STYLE = `
h1 .quiet { display: block; font-size: 1.05rem; letter-spacing: 0; line-height: 1.5; margin-top: 0.4rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); }
.facts div { padding: 8px 12px 9px; }
.facts .headline { grid-column: span 2; border-color: var(--accent); }
.facts .headline dd { font-size: 1.9rem; line-height: 1.15; letter-spacing: -0.01em; }
.facts .fails { border-color: var(--bad); } .facts .fails dd { color: var(--bad); }
.facts small { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; }
.warnings { margin: 1.2rem 0 0; padding: 0; list-style: none; display: grid; gap: 8px; }
.warnings li { background: var(--bad-tint); color: var(--bad); border-radius: 10px; padding: 10px 16px; }
.scrolls { overflow-x: auto; }
.scrolls:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.scrolls tr > :first-child { position: sticky; left: 0; background: var(--card); min-width: 8.6rem; }
.scrolls thead tr > :first-child { background: var(--tint); }
.scrolls thead th { white-space: nowrap; }
.rejected { color: var(--ink); background: var(--tint); }
tr.below th { font-weight: 400; padding-left: 28px; }
.below th, .below td { padding-top: 4px; }
tr:has(+ .below) > * { border-bottom: 0; }
.bar { width: 30%; vertical-align: middle; }
.bar span { display: block; height: 12px; background: var(--tint); border-radius: 4px; overflow: hidden; }
.bar i { display: block; height: 100%; min-width: 1px; background: var(--accent); }
.how { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 8px 24px; padding: 16px 18px; margin: 0.8rem 0 0; }
.how dt { color: var(--soft); } .how dd { margin: 0; }
@media screen and (max-width: 700px) {
  .bar { min-width: 7rem; }
  .scrolls th, .scrolls td { padding: 8px 10px; }
  .scrolls .below th { padding-left: 18px; }
  .how { grid-template-columns: minmax(0, 1fr); gap: 0; } .how dd { margin-bottom: 8px; }
}
@media print {
  .bar span, .bar i, .badge { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .scrolls table { font-size: 8pt; } .scrolls th, .scrolls td { padding: 4px 5px; } .scrolls thead th { font-size: 7.5pt; }
  .scrolls tr > :first-child { position: static; min-width: 7rem; } .bar { width: 20%; }
}
`;
