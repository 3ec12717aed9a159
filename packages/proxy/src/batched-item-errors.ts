/**
 * Writes the header by which a backend fails single items of a batch: `<index> <status> <message>`, one entry an
 * item, separated by commas. Messages are percent-encoded, commas and spaces too, so that the entries come apart
 * again.
 */

/**
 * What all entries may take together. Peers refuse headers of more than 16 KiB, or more than a hundred of them:
 * hence one header, and messages that are cut when there are many.
 */
const MAX_BYTES = 12 * 1024;

export interface ItemError {
  readonly index: number;
  readonly status: number;
  readonly message: string;
}

/** Undefined when there are so many that not even their numbers fit. */
export function formatItemErrors(errors: readonly ItemError[]): string | undefined {
  const bare = errors.map(({ index, status }) => `${index} ${status}`);
  const separators = 3 * errors.length;
  const taken = bare.reduce((sum, entry) => sum + entry.length, separators);
  if (taken > MAX_BYTES) return undefined;
  const room = Math.floor((MAX_BYTES - taken) / errors.length);
  return bare.map((entry, i) => `${entry} ${encoded(errors[i]?.message ?? '', room)}`.trimEnd()).join(', ');
}

/** As much of a text as fits when it is encoded. */
function encoded(text: string, maxLength: number): string {
  // By way of UTF-8, which has no halves of characters: those cannot be encoded.
  const whole = Buffer.from(text).toString();
  const all = encodeURIComponent(whole);
  if (all.length <= maxLength) return all;
  let cut = '';
  for (const character of whole) {
    const next = encodeURIComponent(character);
    if (cut.length + next.length > maxLength) break;
    cut += next;
  }
  return cut;
}
