/** Text tables with aligned columns. */

/** The cells of a row. A row with a single cell is a heading and does not widen its column. */
export type Row = readonly string[];

export function alignedTable(rows: readonly Row[], alignment: readonly ('left' | 'right')[]): string {
  const widths = alignment.map((_, column) =>
    Math.max(0, ...rows.map((row) => (row.length === 1 ? 0 : shownWidth(row[column] ?? '')))),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const padding = ' '.repeat(Math.max(0, (widths[column] ?? 0) - shownWidth(cell)));
          return alignment[column] === 'right' ? padding + cell : cell + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The width without colour codes. */
function shownWidth(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escape sequences
  return [...text.replace(/\x1b\[[\d;]*m/g, '')].length;
}
