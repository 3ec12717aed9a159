/** Columns of plain text, each as wide as its widest cell; the first ones are aligned to the left, numbers to the right. */
export function textTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  leftColumns = 1,
): string[] {
  const lines = [titles, ...rows];
  const widths = titles.map((_, i) => Math.max(...lines.map((cells) => widthOf(cells[i] ?? ''))));
  return lines.map((cells) =>
    titles
      .map((_, i) => {
        const cell = cells[i] ?? '';
        const blank = ' '.repeat((widths[i] as number) - widthOf(cell));
        return i < leftColumns ? cell + blank : blank + cell;
      })
      .join('  ')
      .trimEnd(),
  );
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const COMBINING = /\p{M}/u;

/** Columns that a terminal needs for it: two for characters of East Asia and emoji. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
