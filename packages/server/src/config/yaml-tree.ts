/**
 * A YAML document as entries with positions. Aliases and merge keys are followed; documents that could
 * make that endless or very long are refused before anything is.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
  type YAMLMap,
} from 'yaml';
import { withCommas } from './setting-kind.js';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface YamlEntry {
  readonly key: string;
  readonly keyNode: Node;
  /** Null for a key with nothing after it. */
  readonly value: Node | null;
}

export interface YamlMapping {
  readonly entries: readonly YamlEntry[];
  readonly complaints: readonly YamlComplaint[];
}

export interface YamlComplaint {
  readonly at: Position;
  readonly message: string;
}

/** A file of settings has a handful; each costs a search, and a bomb has many. */
const MOST_ALIASES = 500;
const MOST_VALUES = 100_000;

export class YamlTree {
  readonly complaints: readonly YamlComplaint[];
  readonly #document: Document | undefined;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    const complaints: YamlComplaint[] = [];
    try {
      const documents = parseAllDocuments(text, {
        lineCounter: this.#lines,
        // Told by us, with where the first one is.
        uniqueKeys: false,
        merge: true,
        prettyErrors: false,
        logLevel: 'silent',
      });
      this.#document = documents[0] as Document | undefined;
      for (const document of documents)
        for (const { pos, message } of [...document.errors, ...document.warnings])
          complaints.push({ at: this.#positionAt(pos[0]), message: `${message}.` });
      const second = documents[1];
      if (complaints.length === 0 && second !== undefined)
        complaints.push({
          at: this.#positionAt(second.range[0]),
          message: 'expected one document, a second one begins here.',
        });
      if (complaints.length === 0) complaints.push(...this.#aliasComplaints());
    } catch (error) {
      // The parser and its visitors call themselves for every level.
      if (!(error instanceof RangeError)) throw error;
      complaints.push({ at: { line: 1, column: 1 }, message: 'the document is nested too deeply.' });
    }
    this.complaints = complaints;
  }

  get root(): Node | null {
    const contents = this.#document?.contents;
    return isNode(contents) ? contents : null;
  }

  /** 1, 1 for what is not there. */
  positionOf(node: Node | null): Position {
    return this.#positionAt(node?.range?.[0] ?? 0);
  }

  /** Its entries, each key once: those merged in give way. Undefined for anything but a map. */
  mapping(node: Node | null): YamlMapping | undefined {
    const map = this.#followed(node);
    if (!isMap(map)) return undefined;
    const entries = new Map<string, YamlEntry>();
    const complaints: YamlComplaint[] = [];
    const merged: YamlEntry[] = [];
    for (const { key, value } of map.items as readonly { key: Node; value: Node | null }[]) {
      if (isMergeKey(key)) {
        merged.push(...this.#mergedEntries(key, value, complaints));
        continue;
      }
      const name = this.#keyText(key);
      const first = entries.get(name ?? '');
      if (name === undefined)
        complaints.push({ at: this.positionOf(key), message: 'expected a key that is a single word.' });
      else if (first !== undefined) {
        const { line, column } = this.positionOf(first.keyNode);
        complaints.push({
          at: this.positionOf(key),
          message: `duplicate key ${name}, first at ${line}:${column}.`,
        });
      } else entries.set(name, { key: name, keyNode: key, value });
    }
    // The first of several that are merged counts, as YAML has it.
    for (const entry of merged) if (!entries.has(entry.key)) entries.set(entry.key, entry);
    return { entries: [...entries.values()], complaints };
  }

  /** Scalars, arrays, and maps as `Map`. */
  plain(node: Node | null): unknown {
    const followed = this.#followed(node);
    if (isScalar(followed)) return followed.value;
    if (isSeq(followed)) return followed.items.map((item) => this.plain(item as Node | null));
    const mapping = this.mapping(followed);
    if (mapping === undefined) return null;
    return new Map(mapping.entries.map(({ key, value }) => [key, this.plain(value)]));
  }

  /** The part of a value that a complaint is about, or the key that leads to it; as far as there is one. */
  within(node: Node | null, path: readonly (string | number)[], isOfKey = false): Node | null {
    let found = this.#followed(node);
    for (const [i, part] of path.entries()) {
      let next: Node | null | undefined;
      if (isSeq(found) && typeof part === 'number') next = found.items[part] as Node | null;
      else {
        const entry = this.mapping(found)?.entries.find(({ key }) => key === part);
        next = isOfKey && i === path.length - 1 ? entry?.keyNode : entry?.value;
      }
      if (next === undefined || next === null) return found;
      found = this.#followed(next);
    }
    return found;
  }

  #mergedEntries(key: Node, value: Node | null, complaints: YamlComplaint[]): readonly YamlEntry[] {
    const source = this.#followed(value);
    const parts = isSeq(source) ? (source.items as Node[]) : [source];
    const merged: YamlEntry[] = [];
    for (const part of parts) {
      const mapping = this.mapping(part);
      if (mapping === undefined)
        complaints.push({ at: this.positionOf(key), message: '<< expects a map, or a list of maps.' });
      else merged.push(...mapping.entries);
    }
    return merged;
  }

  #keyText(node: Node | null): string | undefined {
    const key = this.#followed(node);
    if (!isScalar(key) || key.value === null) return undefined;
    // As it is written: 1e3 and on are names like any other.
    return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
  }

  #followed(node: Node | null): Node | null {
    return isAlias(node) ? ((node.resolve(this.#document as Document) as Node | undefined) ?? null) : node;
  }

  #positionAt(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? { line: 1, column: 1 } : { line, column: col };
  }

  #aliasComplaints(): YamlComplaint[] {
    const document = this.#document;
    if (document === undefined) return [];
    const aliases: { readonly alias: Alias; readonly within: readonly unknown[] }[] = [];
    visit(document, {
      Alias: (_key, alias, path) => {
        aliases.push({ alias, within: [...path] });
        return aliases.length > MOST_ALIASES ? visit.BREAK : undefined;
      },
    });
    const first = aliases[0];
    if (first === undefined) return [];
    if (aliases.length > MOST_ALIASES)
      return [
        { at: this.positionOf(first.alias), message: `expected at most ${MOST_ALIASES} aliases, got more.` },
      ];
    const complaints: YamlComplaint[] = [];
    for (const { alias, within } of aliases) {
      const target = alias.resolve(document);
      const at = this.positionOf(alias);
      if (target === undefined)
        complaints.push({
          at,
          message: `*${alias.source}: expected an anchor &${alias.source} before the alias, got none.`,
        });
      else if (within.includes(target as YAMLMap))
        complaints.push({ at, message: `*${alias.source}: the value contains itself.` });
    }
    if (complaints.length === 0 && valuesOf(document) > MOST_VALUES)
      complaints.push({
        at: this.positionOf(first.alias),
        message: `expected at most ${withCommas(MOST_VALUES)} values with aliases expanded, got more.`,
      });
    return complaints;
  }
}

function isMergeKey(key: Node | null): boolean {
  return isScalar(key) && typeof key.value === 'symbol';
}

/** How many there are with every alias written out; each map or list is gone through once. */
function valuesOf(document: Document): number {
  const known = new Map<unknown, number>();
  const count = (node: unknown): number => {
    if (isAlias(node)) return count(node.resolve(document));
    if (!isMap(node) && !isSeq(node)) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    let sum = 1;
    for (const item of node.items as readonly unknown[])
      sum += isPair(item) ? 1 + count(item.value) : count(item);
    known.set(node, sum);
    return sum;
  };
  return count(document.contents);
}
