/** Markup as strings: all text and attributes are escaped here and nowhere else. */

type AttributeValue = string | number | undefined;

/** Characters that XML 1.0 does not allow: control characters, lone surrogates, non-characters. */
const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches them
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escaped for text and quoted attributes, in XML and HTML. */
export function escaped(text: string): string {
  return text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** An element; its content must be markup. Undefined attributes are omitted. */
export function element(
  name: string,
  attributes: Readonly<Record<string, AttributeValue>>,
  content: string | readonly string[] = '',
): string {
  let tag = name;
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    tag += ` ${key}="${typeof value === 'number' ? coordinate(value) : escaped(value)}"`;
  }
  const inside = typeof content === 'string' ? content : content.join('');
  return inside === '' ? `<${tag}/>` : `<${tag}>${inside}</${name}>`;
}

/** Rounded to 0.1 pixel, which keeps files small. */
export function coordinate(value: number): string {
  const rounded = Math.round(value * 10) / 10;
  // Avoids -0.
  return String(rounded === 0 ? 0 : rounded);
}

/** A short deterministic id for some content (FNV-1a). */
export function contentId(content: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < content.length; i++) hash = Math.imul(hash ^ content.charCodeAt(i), 0x01000193);
  return `plot-${(hash >>> 0).toString(36)}`;
}
