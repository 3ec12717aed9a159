/** A location in a request for error messages. The text is built only when there is an error. */
export interface JsonPlace {
  readonly root: string;
  /** Follows the first index, as in `instances[3].signal[0]`. */
  readonly member?: string;
}

export function placeAt(place: JsonPlace, indices: readonly number[]): string {
  let path = place.root;
  for (const [level, index] of indices.entries()) {
    path += `[${index}]`;
    if (level === 0 && place.member !== undefined) path += `.${place.member}`;
  }
  return path;
}
