/**
 * A strict XML parser for tests of charts. It throws where the parser of a browser would, and checks that ids are unique,
 * references exist and numbers are finite.
 */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

interface OpenElement {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: (XmlElement | string)[];
}

const NAME = '[A-Za-z_][\\w.:-]*';
const TAG = new RegExp(`^<(/?)(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*)\\s*(/?)>`);
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'g');
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not allow them.
const NOT_A_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;
const GEOMETRY = new Set(['d', 'x', 'y', 'width', 'height', 'viewBox']);
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

export function parseXml(text: string): XmlElement {
  if (NOT_A_CHARACTER.test(text)) throw new Error('A character that XML does not allow.');
  const root: OpenElement = { name: '', attributes: {}, children: [] };
  const open: OpenElement[] = [root];
  for (let rest = text; rest !== ''; ) {
    const inner = open.at(-1) as OpenElement;
    if (!rest.startsWith('<')) {
      const end = rest.indexOf('<') === -1 ? rest.length : rest.indexOf('<');
      inner.children.push(unescaped(rest.slice(0, end)));
      rest = rest.slice(end);
      continue;
    }
    const tag = TAG.exec(rest);
    if (tag === null) throw new Error(`Not a tag: ${rest.slice(0, 60)}`);
    const [whole, isEnd, name = '', attributes = '', isEmpty] = tag;
    rest = rest.slice(whole.length);
    if (isEnd) {
      if (inner.name !== name) throw new Error(`</${name}> ends <${inner.name}>.`);
      open.pop();
      continue;
    }
    const made: OpenElement = { name, attributes: parsedAttributes(attributes), children: [] };
    inner.children.push(made);
    if (!isEmpty) open.push(made);
  }
  if (open.length > 1) throw new Error(`<${open.at(-1)?.name}> has no end.`);
  const [only, ...others] = root.children;
  if (typeof only !== 'object' || others.length > 0) throw new Error('There must be one root.');
  return only;
}

/** Parses a chart and checks the properties of all charts. */
export function parsePlot(svg: string): XmlElement {
  const root = parseXml(svg);
  const elements = [root, ...descendants(root)];
  const ids = elements.flatMap(({ attributes }) => attributes.id ?? []);
  if (new Set(ids).size !== ids.length) throw new Error(`Ids twice: ${ids.join(' ')}`);
  for (const { name, attributes } of elements) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key === 'data-readout') continue;
      const attribute = `${name} ${key}="${value}"`;
      if (/\b(NaN|Infinity|undefined|null)\b/.test(value)) throw new Error(`Not a value: ${attribute}`);
      if (GEOMETRY.has(key) && /\d[eE][+-]?\d/.test(value)) throw new Error(`Not a coordinate: ${attribute}`);
      const referred =
        key === 'aria-labelledby'
          ? value.split(' ')
          : [...(/url\(#(.*)\)/[Symbol.match](value) ?? [])].slice(1);
      for (const id of referred) if (!ids.includes(id)) throw new Error(`Unknown reference: ${attribute}`);
    }
  }
  return root;
}

export function descendants({ children }: XmlElement): XmlElement[] {
  return children.flatMap((child) => (typeof child === 'string' ? [] : [child, ...descendants(child)]));
}

export function named(root: XmlElement, name: string): XmlElement[] {
  return descendants(root).filter((one) => one.name === name);
}

export function textOf({ children }: XmlElement): string {
  return children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

/** All text in it. */
export function texts(root: XmlElement): string[] {
  return named(root, 'text').map(textOf);
}

function parsedAttributes(source: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, key = '', double, single] of source.matchAll(ATTRIBUTE)) {
    if (key in attributes) throw new Error(`Attribute ${key} twice.`);
    attributes[key] = unescaped(double ?? single ?? '');
  }
  return attributes;
}

function unescaped(text: string): string {
  return text.replace(/&([^;\s]*;?)/g, (whole, name: string) => {
    const character = ENTITIES[name.slice(0, -1)];
    if (!name.endsWith(';') || character === undefined) throw new Error(`Not an entity: ${whole}`);
    return character;
  });
}
