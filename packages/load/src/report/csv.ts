/** Comma-separated values (RFC 4180), safe to open in a spreadsheet. */

/** A spreadsheet takes a cell that begins like this for a formula, and would run it. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/u;

/** Texts are guarded against formulas and quoted where necessary; numbers are written in full. */
export function csvText(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((cells) => `${cells.map(cellText).join(',')}\r\n`).join('');
}

function cellText(cell: string | number): string {
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : 'N/A';
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
