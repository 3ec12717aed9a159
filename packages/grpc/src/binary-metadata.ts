/** Metadata whose names end in `-bin` is bytes in base64. */

/**
 * The values of one name. Node joins those of a name that came several times with a comma; in base64, where a comma
 * means nothing, that can be undone, and has to be: to most peers the joined text is no base64.
 */
export function valuesOf(name: string, value: string | string[] | number | undefined): readonly string[] {
  if (value === undefined) return [];
  const values = Array.isArray(value) ? value : [String(value)];
  if (!name.endsWith('-bin')) return values;
  return values.flatMap((one) => (one.includes(',') ? one.split(',').map((part) => part.trim()) : [one]));
}

/** With or without padding, and without bits that stand for nothing: as strict as the strictest peer. */
export function isBase64(text: string): boolean {
  return BASE64.test(text);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw](?:==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$/;
