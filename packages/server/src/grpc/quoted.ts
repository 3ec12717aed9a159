/** Words from outside, for an error message: in quotes, escaped, and not too long. */
const LONGEST = 80;

export function quoted(text: string): string {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

export function quotedList(texts: Iterable<string>): string {
  return Array.from(texts, quoted).join(', ');
}
