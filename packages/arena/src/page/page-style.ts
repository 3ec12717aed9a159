/** The style of the arena's page, with light, dark, narrow and print versions. */
import { FONT } from '../plot/look.js';

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f4f6f8; --card: #ffffff; --ink: #1d2430; --soft: #5a6473; --edge: #dfe4ea; --tint: #eef2f7;
  --accent: #0a54d6; --good: #0a7a4b; --good-tint: #e2f4ea; --bad: #b3361b; --bad-tint: #fdebe5;
  --plot-paper: var(--card); --plot-ink: var(--ink); --plot-soft: var(--soft);
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #0d1014; --card: #15191f; --ink: #e8ecf2; --soft: #a3adba; --edge: #2a313b; --tint: #1d232b;
    --accent: #6ba6ff; --good: #5bd39a; --good-tint: #12301f; --bad: #ff9478; --bad-tint: #3a1c14;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 6.5rem; }
body { margin: 0; overflow-wrap: anywhere; background: var(--page); color: var(--ink); font: 16px/1.55 ${FONT}; }
main, header.top, footer { max-width: 1180px; margin: 0 auto; padding: 0 clamp(14px, 3vw, 32px); }
header.top { padding-top: clamp(28px, 5vw, 56px); padding-bottom: 8px; }
h1 { font-size: clamp(1.8rem, 4vw, 2.6rem); line-height: 1.1; letter-spacing: -0.02em; margin: 0 0 0.5rem; }
h2 { font-size: 1.35rem; letter-spacing: -0.01em; margin: 2.6rem 0 0.3rem; }
h3 { font-size: 1.1rem; margin: 0 0 0.2rem; }
h4 { font-size: 1rem; margin: 1.6rem 0 0.1rem; }
p { margin: 0.3rem 0 0.8rem; max-width: 46rem; }
.lead { font-size: 1.08rem; color: var(--soft); }
.quiet { color: var(--soft); font-weight: 400; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 12px; }
.facts { display: flex; flex-wrap: wrap; gap: 10px; margin: 1.2rem 0 0; padding: 0; }
.facts div { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 8px 16px 9px; }
.facts dt { color: var(--soft); font-size: 0.8rem; }
.facts dd { margin: 0; font-size: 1.15rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.facts .all { border-color: var(--good); } .facts .all dd { color: var(--good); }

.table { overflow: hidden; margin-top: 0.8rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.94rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 550; font-size: 0.82rem; background: var(--tint); }
th, td { padding: 10px 14px; border-bottom: 1px solid var(--edge); vertical-align: top; overflow-wrap: anywhere; }
tbody tr:last-child > * { border-bottom: 0; }
tbody th { background: none; color: var(--ink); font-weight: 600; font-size: inherit; }
thead th { overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; }
.verdict { white-space: nowrap; }
.badge { display: inline-block; border-radius: 99px; padding: 1px 10px; font-weight: 600; font-size: 0.86rem; }
.reached { color: var(--good); background: var(--good-tint); }
.missed { color: var(--bad); background: var(--bad-tint); }
.ratio { font-weight: 600; } .ratio.better { color: var(--good); } .ratio.worse { color: var(--bad); }

.controls, .with-script { display: none; } .js .with-script { display: block; }
.js .controls {
  display: flex; flex-wrap: wrap; gap: 8px 20px; position: sticky; top: 0; z-index: 3; padding: 10px 0;
  background: var(--page); border-bottom: 1px solid var(--edge); margin-bottom: 18px;
}
.controls fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 6px; min-width: 0; align-items: center; }
.controls legend { float: left; color: var(--soft); font-size: 0.86rem; margin-right: 4px; padding: 0; }
.controls label { position: relative; cursor: pointer; }
.controls input { position: absolute; opacity: 0; inset: 0; margin: 0; width: 100%; height: 100%; cursor: pointer; }
.controls span {
  display: block; padding: 5px 14px; border: 1px solid var(--edge); border-radius: 99px; background: var(--card);
  font-size: 0.92rem; font-weight: 550;
}
.controls input:checked + span { background: var(--accent); border-color: var(--accent); color: var(--card); }
.controls input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px; }
.controls label:hover span { border-color: var(--accent); }

.panel { margin-bottom: 48px; }
.panel[hidden] { display: none; }
.grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 18px; margin-top: 14px; }
figure { margin: 0; padding: 4px; position: relative; min-width: 0; }
figure svg { display: block; width: 100%; height: auto; border-radius: 9px; }
figure svg:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.js svg[data-readout] { touch-action: pan-y; cursor: crosshair; }
.narrow { display: none; }
figcaption { padding: 0 14px 10px; color: var(--soft); font-size: 0.88rem; }
.timelines { display: grid; gap: 12px; margin-top: 10px; }
details { padding: 0 14px 12px; font-size: 0.88rem; }
summary { cursor: pointer; color: var(--soft); width: fit-content; border-radius: 4px; }
summary:hover { color: var(--ink); }
.values { overflow-x: auto; margin-top: 8px; }
.values table { font-size: 0.82rem; } .values th, .values td { padding: 4px 9px; text-align: right; white-space: nowrap; }

.readout {
  position: absolute; z-index: 2; pointer-events: none; background: var(--card); border: 1px solid var(--edge);
  border-radius: 9px; padding: 7px 11px 8px; font-size: 0.8rem; line-height: 1.45; box-shadow: 0 6px 22px rgb(0 0 0 / 0.18);
  min-width: 9rem; font-variant-numeric: tabular-nums;
}
.readout b { display: block; margin-bottom: 2px; }
.readout div { display: grid; grid-template-columns: 10px 1fr auto; gap: 7px; align-items: center; }
.readout i { width: 10px; height: 10px; border-radius: 3px; background: currentColor; }
.readout .near { font-weight: 700; }
footer { padding-top: 12px; padding-bottom: 48px; color: var(--soft); font-size: 0.9rem; }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }

@media screen and (max-width: 980px) {
  .grid { grid-template-columns: minmax(0, 1fr); }
  .grid figure svg { max-width: 720px; margin: 0 auto; }
}
@media screen and (max-width: 700px) {
  .timelines .wide { display: none; } .timelines .narrow { display: block; }
  .timelines svg { max-width: 480px; margin: 0 auto; }
  .stacks, .stacks tbody, .stacks tr, .stacks td, .stacks tbody th { display: block; }
  .stacks thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .stacks tr { padding: 10px 14px; border-bottom: 1px solid var(--edge); }
  .stacks tr:last-child { border-bottom: 0; }
  .stacks td, .stacks tbody th { border: 0; padding: 2px 0; text-align: left; white-space: normal; }
  .stacks td[data-label] { display: grid; grid-template-columns: 8.6rem minmax(0, 1fr); }
  .stacks td[data-label]::before { content: attr(data-label); color: var(--soft); font-size: 0.86rem; }
}
@media screen and (max-width: 560px) {
  .grid .wide { display: none; } .grid .narrow { display: block; }
  .js .controls { gap: 6px 14px; padding: 8px 0; }
  .controls fieldset:first-child legend { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .controls span { padding: 4px 11px; font-size: 0.86rem; }
}
@media print {
  :root { --page: #fff; --edge: #c9d0d8; }
  body { font-size: 10.5pt; } main, header.top, footer { max-width: none; padding: 0; }
  .js .controls, .js .with-script, details, .readout { display: none; }
  .grid { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
  .grid .wide { display: none; } .grid .narrow { display: block; }
  .timelines .wide { display: block; } .timelines .narrow { display: none; }
  .timelines svg, .grid figure svg { max-width: none; }
  figure, tr, .facts { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  .panel + .panel { break-before: page; }
  @page { margin: 14mm; }
}
`;
