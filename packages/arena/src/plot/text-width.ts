/** How wide text will be, without a browser to ask: estimates on the generous side. */

export function textWidth(text: string, fontSize: number): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width * fontSize;
}

/** The text, or as much of it as fits with an ellipsis. */
export function shortened(text: string, width: number, fontSize: number): string {
  if (textWidth(text, fontSize) <= width) return text;
  const characters = [...text];
  while (characters.length > 0 && textWidth(`${characters.join('')}…`, fontSize) > width) characters.pop();
  return `${characters.join('').trimEnd()}…`;
}

/** The text broken into lines at spaces; the last of `maxLines` takes what is left, shortened. */
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

/** In parts of the font size, as in the wider ones of the usual sans-serif faces. */
function characterWidth(character: string): number {
  if (/[iljI|.,:;'!]/.test(character)) return 0.32;
  if (/[ ftr()[\]/-]/.test(character)) return 0.4;
  if (/[mwMW@%]/.test(character)) return 0.92;
  if (/[A-Z]/.test(character)) return 0.7;
  return (character.codePointAt(0) as number) >= 0x2e80 ? 1.05 : 0.6;
}
