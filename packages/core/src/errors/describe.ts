/** Wording of error messages: values, thrown values, and suggestions for unknown words. */

/** Names a value: short, safe for any value, never the whole content. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return `${value}n (a bigint)`;
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return value === null ? 'null' : describeObject(value as object);
  }
}

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object';
    return ArrayBuffer.isView(value) && 'length' in value
      ? `an object (${name} of ${value.length})`
      : `an object (${name})`;
  } catch {
    return 'an object';
  }
}

/** The message of a thrown value, which need not be an `Error`. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown.message;
  } catch {
    // A proxy or a getter that throws.
  }
  return describe(thrown);
}

/** The known word that a mistyped word probably means; for error messages of all packages. */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const typed = plain(word);
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(typed.length / 3)) + 1;
  // Every word is near a word of one or two letters.
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

/** `at` probably means `at_ms`. */
function lacksUnit(typed: string, compared: string): boolean {
  return typed !== '' && UNITS.some((unit) => compared === typed + unit);
}

/** The same for `maxBatchSize`, `max-batch-size`, `MAX_BATCH_SIZE` and `max_batch_size`. */
function plain(word: string): string {
  return word
    .slice(0, 100)
    .replace(/([\p{L}\p{N}])[^\p{L}\p{N}]+(?=[\p{L}\p{N}])/gu, '$1')
    .toLowerCase();
}

/** Optimal string alignment distance: a swap of neighbouring letters is one edit. */
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
