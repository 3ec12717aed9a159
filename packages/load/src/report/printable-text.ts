/**
 * Names and reasons come from targets and scenario files. On a terminal, control characters in them would move the
 * cursor or change the title of the window, and direction marks would reorder the line.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]+/gu;

export function printableText(text: string, mostCharacters = Number.POSITIVE_INFINITY): string {
  const characters = [...text.replace(UNPRINTABLE, '\ufffd')];
  if (characters.length <= mostCharacters) return characters.join('');
  return `${characters.slice(0, Math.max(0, mostCharacters - 1)).join('')}…`;
}
