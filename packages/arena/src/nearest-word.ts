/** The known word nearest to a mistyped one, as a hint for an error message; empty when none is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  let nearest = '';
  let fewest = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    // Only the unit is missing.
    if (candidate.startsWith(`${word.toLowerCase()}_`)) return ` Did you mean ${candidate}?`;
    // So different in length is no slip of the finger, and need not be looked at letter by letter.
    if (Math.abs(candidate.length - word.length) >= fewest) continue;
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest === '' ? '' : ` Did you mean ${nearest}?`;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
