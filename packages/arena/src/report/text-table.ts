/** Columns that line up. */

/** Its cells; one that is alone may be as long as it likes. */
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

/** Colours take no room. */
function shownWidth(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
  return [...text.replace(/\x1b\[[\d;]*m/g, '')].length;
}
