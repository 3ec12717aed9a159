/** The schema as the sources walk it: by the keys of the file, with aliases resolved. */
import { type Alias, RUNNER_SCHEMA, SERVER_SCHEMA, type Section, type Setting } from './config-schema.js';

export type KeyNode = SettingKey | SectionKey;

export interface SettingKey {
  readonly type: 'setting';
  /** The path of the setting from its owner, the root or a runner; an alias has that of what it stands for. */
  readonly path: readonly string[];
  /** The same in the words of the settings. */
  readonly fields: readonly string[];
  readonly setting: Setting<unknown>;
  readonly isLive: boolean;
}

export interface SectionKey {
  readonly type: 'section';
  readonly keys: ReadonlyMap<string, KeyNode>;
  /** The keys of `keys` that are other words for something. */
  readonly aliases: ReadonlySet<string>;
  /** Keys of BentoML that are not ours, with advice. */
  readonly elsewhere: ReadonlyMap<string, string>;
  readonly description: string;
  /** The setting that a single value in its place stands for. */
  readonly shorthand?: SettingKey;
  /** When all other keys are names, of things that have these keys. */
  readonly named?: SectionKey;
}

/** What compiling needs of a section, whatever its type. */
interface AnySection {
  readonly description: string;
  readonly isLive?: boolean;
  readonly fields: Readonly<Record<string, Setting<unknown> | AnySection>>;
  readonly shorthand?: string;
  readonly aliases?: Readonly<Record<string, Alias>>;
  readonly elsewhere?: Readonly<Record<string, string>>;
}

/** The keys of one runner. */
export const RUNNER_KEYS: SectionKey = compile(RUNNER_SCHEMA);

/** The keys of the whole file. */
export const ROOT_KEYS: SectionKey = withRunners(compile(SERVER_SCHEMA));

/** Every setting once, in the order of the schema. */
export function settingsOf(section: SectionKey): SettingKey[] {
  const found: SettingKey[] = [];
  for (const [key, node] of section.keys) {
    if (section.aliases.has(key) || section.named !== undefined) continue;
    if (node.type === 'setting') found.push(node);
    else found.push(...settingsOf(node));
  }
  return found;
}

function withRunners(root: SectionKey): SectionKey {
  const runners: SectionKey = { ...RUNNER_KEYS, named: RUNNER_KEYS };
  return { ...root, keys: new Map<string, KeyNode>([...root.keys, ['runners', runners]]) };
}

function compile<T>(schema: Section<T>): SectionKey {
  const root = sectionKey(schema as unknown as AnySection, [], [], false);
  return resolveAliases(schema as unknown as AnySection, root, root);
}

function sectionKey(
  section: AnySection,
  path: readonly string[],
  fields: readonly string[],
  isLive: boolean,
): SectionKey {
  const keys = new Map<string, KeyNode>();
  for (const [field, entry] of Object.entries(section.fields)) {
    const isLiveHere = isLive || entry.isLive === true;
    if ('kind' in entry) {
      const key = entry.key ?? snakeCase(field);
      keys.set(key, {
        type: 'setting',
        path: [...path, key],
        fields: [...fields, field],
        setting: entry,
        isLive: isLiveHere,
      });
    } else {
      const key = snakeCase(field);
      keys.set(key, sectionKey(entry, [...path, key], [...fields, field], isLiveHere));
    }
  }
  return {
    type: 'section',
    keys,
    aliases: new Set(),
    elsewhere: new Map(Object.entries(section.elsewhere ?? {})),
    description: section.description,
    ...(section.shorthand === undefined
      ? {}
      : { shorthand: keys.get(snakeCase(section.shorthand)) as SettingKey }),
  };
}

/** A second pass: an alias may stand for a setting of a section that comes later. */
function resolveAliases(section: AnySection, compiled: SectionKey, owner: SectionKey): SectionKey {
  const keys = new Map(compiled.keys);
  for (const [field, entry] of Object.entries(section.fields)) {
    const key = snakeCase(field);
    const node = keys.get(key);
    if (!('kind' in entry) && node?.type === 'section') keys.set(key, resolveAliases(entry, node, owner));
  }
  for (const [key, alias] of Object.entries(section.aliases ?? {})) keys.set(key, aliasKey(alias, owner));
  return { ...compiled, keys, aliases: new Set(Object.keys(section.aliases ?? {})) };
}

function aliasKey(alias: Alias, owner: SectionKey): KeyNode {
  if ('to' in alias) return settingAt(owner, alias.to);
  const keys = Object.entries(alias.keys).map(([key, { to }]) => [key, settingAt(owner, to)] as const);
  return {
    type: 'section',
    keys: new Map(keys),
    aliases: new Set(Object.keys(alias.keys)),
    elsewhere: new Map(Object.entries(alias.elsewhere ?? {})),
    description: '',
  };
}

function settingAt(owner: SectionKey, path: readonly string[]): SettingKey {
  let node: KeyNode | undefined = owner;
  for (const key of path) node = node?.type === 'section' ? node.keys.get(key) : undefined;
  if (node?.type !== 'setting')
    throw new Error(`There is no setting ${path.join('.')} for an alias to stand for.`);
  return node;
}

export function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
