/** The effective configuration for people, as YAML with the origin of each value, and for programs, as JSON. */
import { stringify } from 'yaml';
import { ROOT_KEYS, type SettingKey, settingsOf } from './key-tree.js';
import type { LoadedConfig } from './loaded-config.js';
import { resolveRunner, runnerOrigin, runnerSettingKeys, valueAt } from './resolve-runner.js';
import type { Plain } from './setting-kind.js';
import { DEFAULT_ORIGIN, type Origin, originText } from './setting-origin.js';
import { pathText } from './setting-path.js';

/** One setting as it counts. */
interface EffectiveValue {
  readonly path: readonly string[];
  /** Undefined where the default is not one value: then `text` tells. */
  readonly value: Plain | undefined;
  readonly text: string;
  readonly origin: string;
}

interface Line {
  readonly text: string;
  readonly comment: string;
}

/** Comments are aligned, but a long path does not push them all out of sight. */
const WIDEST = 56;

/** The effective settings as YAML, with origins as comments. Relative paths start from the working directory. */
export function configText(loaded: LoadedConfig, faint: (text: string) => string = (text) => text): string {
  const lines: Line[] = [];
  let before: readonly string[] = [];
  for (const effective of effectiveValues(loaded)) {
    const { path } = effective;
    const section = path.slice(0, -1);
    for (let depth = 0; depth < section.length; depth++)
      if (section.slice(0, depth + 1).some((part, i) => before[i] !== part))
        lines.push({ text: `${indent(depth)}${keyText(section[depth] as string)}:`, comment: '' });
    before = section;
    lines.push(...valueLines(effective));
  }
  const width = Math.min(
    WIDEST,
    Math.max(...lines.filter(({ comment }) => comment !== '').map(({ text }) => text.length)),
  );
  const header = loaded.file === undefined ? 'No file.' : `From ${loaded.file}.`;
  const body = lines.map(({ text, comment }) =>
    comment === '' ? text : `${text.padEnd(width)}   ${faint(`# ${comment}`)}`,
  );
  return `${faint(`# ${header}`)}\n${body.join('\n')}\n`;
}

export interface ConfigJson {
  readonly file: string | null;
  /** With the keys of the file. */
  readonly settings: Plain;
  /** By path. */
  readonly origins: Readonly<Record<string, string>>;
}

export function configJson(loaded: LoadedConfig): ConfigJson {
  const values = effectiveValues(loaded).filter(({ value }) => value !== undefined);
  return {
    file: loaded.file ?? null,
    settings: nested(values.map(({ path, value }) => ({ path, value: value as Plain }))),
    origins: Object.fromEntries(values.map(({ path, origin }) => [pathText(path), origin])),
  };
}

function effectiveValues(loaded: LoadedConfig): EffectiveValue[] {
  const { settings, origins } = loaded;
  const origin = (path: readonly string[]): Origin => origins.get(pathText(path)) ?? DEFAULT_ORIGIN;
  const values = settingsOf(ROOT_KEYS).map((key) =>
    effectiveValue(key, [], valueAt(settings, key), originText(origin(key.path))),
  );
  for (const key of runnerSettingKeys()) {
    const found = valueAt(settings.runners.all, key) ?? defaultOf(key);
    values.push(effectiveValue(key, ['runners'], found, originText(origin(['runners', ...key.path]))));
  }
  const modelNames = settings.models.map(({ name }) => name);
  for (const name of new Set([...modelNames, ...settings.runners.byName.keys()]))
    values.push(...valuesOfRunner(loaded, name, modelNames.includes(name)));
  return values;
}

/** Of one that is not among the models, the code may say more. */
function valuesOfRunner(loaded: LoadedConfig, name: string, isModel: boolean): EffectiveValue[] {
  const resolved = resolveRunner(loaded.settings, name, { isBatchable: isModel });
  return runnerSettingKeys().map((key) => {
    const origin = runnerOrigin(loaded, name, key);
    const isDefault = origin.kind === 'default';
    const found = isDefault && !isModel ? defaultOf(key) : valueAt(resolved, key);
    const text = isDefault && !isModel ? "default, or the service's code" : originText(origin);
    return effectiveValue(key, ['runners', name], found, text);
  });
}

function effectiveValue(
  key: SettingKey,
  owner: readonly string[],
  found: { readonly value: unknown } | undefined,
  origin: string,
): EffectiveValue {
  const path = [...owner, ...key.path];
  if (found === undefined)
    return { path, value: undefined, text: (key.setting.defaultText ?? '').replaceAll('`', ''), origin };
  const value = key.setting.kind.write(found.value);
  return { path, value, text: scalarText(value), origin };
}

function defaultOf({ setting }: SettingKey): { readonly value: unknown } | undefined {
  return setting.defaultText === undefined ? { value: setting.default } : undefined;
}

function valueLines({ path, value, text, origin }: EffectiveValue): Line[] {
  const depth = path.length - 1;
  const key = `${indent(depth)}${keyText(path.at(-1) as string)}:`;
  if (value === undefined) return [{ text: `${indent(depth)}# ${path.at(-1)}: ${text}`, comment: '' }];
  const isBlock = Array.isArray(value) && value.some((item) => typeof item !== 'number');
  if (!isBlock) return [{ text: `${key} ${text}`, comment: origin }];
  const items = (value as readonly Plain[]).map((item) => ({
    text: `${indent(depth + 1)}- ${scalarText(item)}`,
    comment: '',
  }));
  return [{ text: key, comment: origin }, ...items];
}

/** In one line: texts have no line breaks, lists and maps are in their short form. */
function scalarText(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(scalarText).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, part]) => `${keyText(key)}: ${scalarText(part)}`)
      .join(', ')} }`;
  return stringify(value, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
}

function keyText(key: string): string {
  const isPlain = /^[a-z_][\w.-]*$/i.test(key) && !/^null$/i.test(key);
  return isPlain ? key : JSON.stringify(key);
}

function indent(depth: number): string {
  return '  '.repeat(depth);
}

/** Entries become own properties, whatever they are called. */
function nested(values: readonly { readonly path: readonly string[]; readonly value: Plain }[]): Plain {
  const groups = new Map<string, { path: readonly string[]; value: Plain }[]>();
  for (const { path, value } of values) {
    const [first = '', ...rest] = path;
    const group = groups.get(first) ?? [];
    groups.set(first, group);
    group.push({ path: rest, value });
  }
  const entries = [...groups].map(([key, group]): [string, Plain] => {
    const leaf = group.find(({ path }) => path.length === 0);
    return [key, leaf === undefined ? nested(group) : leaf.value];
  });
  return Object.fromEntries(entries);
}
