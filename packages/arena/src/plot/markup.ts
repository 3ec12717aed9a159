/** Markup as strings: every piece of text and every attribute is escaped here and nowhere else. */

type AttributeValue = string | number | undefined;

/** What XML does not allow even when escaped: control characters, halves of surrogate pairs, non-characters. */
const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Safe as text and inside quotes, in XML and in HTML. */
export function escaped(text: string): string {
  return text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** An element; its content is markup already. Attributes that are undefined are left out. */
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

/** A tenth of a pixel is finer than anybody sees, and keeps the file small. */
export function coordinate(value: number): string {
  const rounded = Math.round(value * 10) / 10;
  // −0 would be written as such.
  return String(rounded === 0 ? 0 : rounded);
}

/** A short name for some content: the same content, the same name, on every machine. */
export function contentId(content: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < content.length; i++) hash = Math.imul(hash ^ content.charCodeAt(i), 0x01000193);
  return `plot-${(hash >>> 0).toString(36)}`;
}
