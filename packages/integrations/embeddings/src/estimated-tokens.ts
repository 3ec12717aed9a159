/**
 * About as many tokens as a byte-pair encoding makes of a text: one for 4 ASCII characters, which is the mean of
 * English, and one for each other character. Too low for source code and numbers (about 3 characters a token), too high
 * for Cyrillic or Greek (about 2).
 */
export function estimatedTokens(text: string): number {
  let ascii = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x80) ascii += 1;
  return Math.ceil(ascii / 4) + (text.length - ascii);
}
