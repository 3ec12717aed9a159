/** Where in a request something is, for error messages; spelled out only when there is one. */
export interface JsonPlace {
  readonly root: string;
  /** Stands behind the first index, as in `instances[3].signal[0]`. */
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
