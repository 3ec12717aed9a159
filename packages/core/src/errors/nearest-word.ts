/** The known word that a mistyped one was probably meant to be; for error messages, of all packages. */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const typed = plain(word);
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(typed.length / 3)) + 1;
  // A word of a few letters has everything near it.
  fewest = Math.min(fewest, Math.max(2, typed.length - 1));
  for (const candidate of known) {
    const compared = plain(candidate);
    if (nearest === undefined && lacksUnit(typed, compared)) nearest = candidate;
    if (Math.abs(compared.length - typed.length) >= fewest) continue;
    const edits = editDistance(typed, compared);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

/** ` Did you mean port?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const nearest = nearestWord(word, known);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}

const UNITS = ['ms', 'seconds', 'bytes', 'items', 'rows', 'persecond'];

/** `at` is meant to be `at_ms`. */
function lacksUnit(typed: string, compared: string): boolean {
  return typed !== '' && UNITS.some((unit) => compared === typed + unit);
}

/** `maxBatchSize`, `max-batch-size` and `MAX_BATCH_SIZE` are all meant to be `max_batch_size`. */
function plain(word: string): string {
  return word
    .slice(0, 100)
    .replace(/([\p{L}\p{N}])[^\p{L}\p{N}]+(?=[\p{L}\p{N}])/gu, '$1')
    .toLowerCase();
}

/** With swapped neighbours as one edit. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, (beforePrevious[j - 2] ?? 0) + 1);
      current.push(edits);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
