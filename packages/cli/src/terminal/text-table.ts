/** Columns of text, each as wide as its widest cell. */
export interface Column {
  readonly title: string;
  /** @default 'left' */
  readonly align?: 'left' | 'right';
}

/** The lines of the table with its titles, without trailing spaces. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)));
  return lines.map((cells) =>
    columns
      .map(({ align }, i) => {
        const cell = cells[i] ?? '';
        return align === 'right' ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number);
      })
      .join('  ')
      .trimEnd(),
  );
}
