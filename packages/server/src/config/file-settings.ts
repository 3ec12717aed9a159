/** What the file sets: every entry checked against the schema, every complaint with its line and column. */

import { nearestWord } from 'batchwise';
import { isScalar, type Node } from 'yaml';
import type { ConfigProblem } from './config-error.js';
import type { ConfigFile } from './config-file.js';
import { ROOT_KEYS, type SectionKey, type SettingKey } from './key-tree.js';
import { type Assignments, assignmentPath } from './setting-assignment.js';
import { describeValue } from './setting-kind.js';
import { type Origin, originText } from './setting-origin.js';
import { pathText, type SettingPath } from './setting-path.js';
import { ownKeys, unknownKeyMessage } from './unknown-key.js';
import { type Position, type YamlEntry, YamlTree } from './yaml-tree.js';

export interface SourceSettings {
  readonly assignments: Assignments;
  readonly problems: readonly ConfigProblem[];
  /** Where the names of runners stand that it has settings for. */
  readonly runnerNames?: ReadonlyMap<string, Origin>;
}

export function fileSettings(file: ConfigFile): SourceSettings {
  return new FileReader(file).read();
}

class FileReader {
  readonly #file: ConfigFile;
  readonly #tree: YamlTree;
  readonly #assignments: Assignments = new Map();
  readonly #problems: ConfigProblem[] = [];
  readonly #runnerNames = new Map<string, Origin>();

  constructor(file: ConfigFile) {
    this.#file = file;
    this.#tree = new YamlTree(file.text);
  }

  read(): SourceSettings {
    // What is left of a text that is no YAML would only give complaints that mislead.
    if (this.#tree.complaints.length > 0)
      for (const { at, message } of this.#tree.complaints) this.#complain(at, [], message);
    else this.#readSection(this.#tree.root, ROOT_KEYS, [], []);
    return {
      assignments: this.#assignments,
      problems: inOrder(this.#problems),
      runnerNames: this.#runnerNames,
    };
  }

  #readSection(node: Node | null, section: SectionKey, owner: readonly string[], path: SettingPath): void {
    // `runners:` with nothing below it says nothing.
    if (this.#tree.plain(node) === null) return;
    const mapping = this.#tree.mapping(node);
    if (mapping === undefined) {
      const expected = `a map with ${ownKeys(section).join(', ')}`;
      this.#complainOf(node, path, `expected ${expected}, got ${describeValue(this.#tree.plain(node))}.`);
      return;
    }
    for (const { at, message } of mapping.complaints) this.#complain(at, path, message);
    for (const entry of mapping.entries) this.#readEntry(entry, section, owner, [...path, entry.key]);
  }

  #readEntry(entry: YamlEntry, section: SectionKey, owner: readonly string[], path: SettingPath): void {
    const { key, keyNode, value } = entry;
    const node = section.keys.get(key);
    const shorthand = node?.type === 'section' ? node.shorthand : undefined;
    if (node?.type === 'setting') this.#readSetting(entry, node, owner, path);
    else if (shorthand !== undefined && this.#tree.mapping(value) === undefined)
      this.#readSetting(entry, shorthand, owner, path);
    else if (node !== undefined)
      this.#readSection(value, node, node.named === undefined ? owner : ['runners'], path);
    else if (section.named !== undefined) this.#readNamed(entry, section, section.named, path);
    else if (path.length > 1 || !this.#isAside(entry))
      this.#complainOf(keyNode, path, unknownKeyMessage(key, section));
  }

  #readSetting(
    { keyNode, value }: YamlEntry,
    key: SettingKey,
    owner: readonly string[],
    path: SettingPath,
  ): void {
    const verdict = key.setting.kind.parse(this.#tree.plain(value), { folder: this.#file.folder });
    if ('complaints' in verdict) {
      for (const { at, message, isOfKey } of verdict.complaints)
        this.#complainOf(this.#tree.within(value, at, isOfKey) ?? keyNode, [...path, ...at], message);
      return;
    }
    const assignment = {
      owner,
      key,
      value: verdict.value,
      origin: this.#origin(this.#tree.positionOf(keyNode)),
    };
    const canonical = assignmentPath(assignment);
    const other = this.#assignments.get(canonical);
    if (other !== undefined)
      this.#complainOf(
        keyNode,
        path,
        `the same setting as at ${originText(other.origin)}: both are ${canonical}. Keep one.`,
      );
    this.#assignments.set(canonical, assignment);
  }

  /** A key under `runners` that is not a setting is the name of a runner, unless it is plainly a slip. */
  #readNamed(
    { key, keyNode, value }: YamlEntry,
    runners: SectionKey,
    named: SectionKey,
    path: SettingPath,
  ): void {
    const mapping = this.#tree.mapping(value);
    const meant = nearestWord(key, runners.keys.keys());
    const advice = runners.elsewhere.get(key);
    const isNothingOfRunner =
      mapping !== undefined &&
      mapping.entries.length > 0 &&
      mapping.entries.every((entry) => !named.keys.has(entry.key));
    const came = this.#tree.plain(value);
    if (advice !== undefined && (isNothingOfRunner || (mapping === undefined && came !== null)))
      this.#complainOf(keyNode, path, unknownKeyMessage(key, runners));
    else if (isNothingOfRunner && meant !== undefined)
      this.#complainOf(keyNode, path, `unknown key. Did you mean ${meant}?`);
    else if (mapping === undefined && came !== null) {
      const suggestion = meant === undefined ? '' : ` Did you mean ${meant}?`;
      const expected = 'a map with the settings of a runner of that name';
      this.#complainOf(value, path, `expected ${expected}, got ${describeValue(came)}.${suggestion}`);
    } else {
      this.#runnerNames.set(key, this.#origin(this.#tree.positionOf(keyNode)));
      this.#readSection(value, named, ['runners', key], path);
    }
  }

  /** At the top: the version of BentoML's files, and places for anchors, as Compose files have them. */
  #isAside({ key, keyNode, value }: YamlEntry): boolean {
    if (key.startsWith('x-')) return true;
    if (key !== 'version') return false;
    const version = this.#tree.plain(value);
    if (version !== 1)
      this.#complainOf(
        isScalar(value) ? value : keyNode,
        ['version'],
        `expected 1, or no version at all, got ${describeValue(version)}.`,
      );
    return true;
  }

  #complainOf(node: Node | null, path: SettingPath, message: string): void {
    this.#complain(this.#tree.positionOf(node), path, message);
  }

  #complain(at: Position, path: SettingPath, message: string): void {
    this.#problems.push({ origin: this.#origin(at), path: pathText(path), message });
  }

  #origin({ line, column }: Position): Origin {
    return { kind: 'file', file: this.#file.name, line, column };
  }
}

function inOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const offset = ({ origin }: ConfigProblem) =>
    origin?.kind === 'file' ? origin.line * 1e7 + origin.column : 0;
  return problems.toSorted((a, b) => offset(a) - offset(b));
}
