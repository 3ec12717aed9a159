/** Estimated text width, without a browser; rather too wide than too narrow. */

export function textWidth(text: string, fontSize: number): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width * fontSize;
}

/** The text, shortened with an ellipsis if it does not fit. */
export function shortened(text: string, width: number, fontSize: number): string {
  if (textWidth(text, fontSize) <= width) return text;
  const characters = [...text];
  while (characters.length > 0 && textWidth(`${characters.join('')}…`, fontSize) > width) characters.pop();
  return `${characters.join('').trimEnd()}…`;
}

/** The text in lines, broken at spaces; the last line is shortened. */
export function wrapped(text: string, width: number, fontSize: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = '';
  const words = text.split(/\s+/).filter((word) => word !== '');
  words.forEach((word, i) => {
    if (lines.length === maxLines) return;
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || textWidth(longer, fontSize) <= width) {
      line = longer;
      return;
    }
    if (lines.length === maxLines - 1) {
      lines.push(shortened([line, ...words.slice(i)].join(' '), width, fontSize));
      return;
    }
    lines.push(line);
    line = word;
  });
  if (lines.length < maxLines && line !== '') lines.push(line);
  return lines.map((each) => shortened(each, width, fontSize));
}

/** As a share of the font size, in wide sans-serif fonts. */
function characterWidth(character: string): number {
  if (/[iljI|.,:;'!]/.test(character)) return 0.32;
  if (/[ ftr()[\]/-]/.test(character)) return 0.4;
  if (/[mwMW@%]/.test(character)) return 0.92;
  if (/[A-Z]/.test(character)) return 0.7;
  return (character.codePointAt(0) as number) >= 0x2e80 ? 1.05 : 0.6;
}
