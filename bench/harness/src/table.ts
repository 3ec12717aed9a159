/** Columns of text, as wide as their widest cell: numbers to the right, words to the left. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /**
   * The columns of words.
   * @default [0]
   */
  readonly words?: readonly number[];
}

export function linesOf({ head, rows, words = [0] }: Table): string[] {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  return lines.map((cells) => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? '';
      return words.includes(column) ? cell.padEnd(width) : cell.padStart(width);
    });
    return `  ${padded.join('  ').trimEnd()}`;
  });
}
