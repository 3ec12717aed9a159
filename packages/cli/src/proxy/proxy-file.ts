/** Settings of the proxy in a file; each problem has its line and column. */
import {
  type ConfigFile,
  type ConfigProblem,
  type Origin,
  pathText,
  type SettingComplaint,
  YamlTree,
} from '@batchwise/server';
import { parseMap } from './proxy-map.js';
import { PROXY_SETTINGS } from './proxy-schema.js';
import type { ProxyField } from './proxy-settings.js';
import type { Given, ProxySource } from './proxy-source.js';

type Path = SettingComplaint['at'];

export function proxyFile({ name, text, folder }: ConfigFile): ProxySource {
  const tree = new YamlTree(text);
  const originAt = (position: { readonly line: number; readonly column: number }): Origin => ({
    kind: 'file',
    file: name,
    ...position,
  });
  const originOf = (path: Path, isOfKey: boolean) =>
    originAt(tree.positionOf(tree.within(tree.root, path, isOfKey)));

  // The rest of invalid YAML would produce misleading problems.
  const broken = tree.complaints.length > 0 ? tree.complaints : doubledKeys(tree, tree.plain(tree.root));
  if (broken.length > 0) {
    return {
      given: new Map(),
      problems: broken.map(({ at, message }) => ({ origin: originAt(at), path: '', message })),
    };
  }
  const given = new Map<ProxyField, Given>();
  // An empty file has no settings.
  const verdict = parseMap(tree.plain(tree.root) ?? new Map(), PROXY_SETTINGS, { folder });
  if ('value' in verdict) {
    for (const [field, { key, value }] of verdict.value)
      given.set(field, { value, origin: originOf([key], true) });
    return { given, problems: [] };
  }
  const problems: ConfigProblem[] = verdict.complaints.map(({ at, message, isOfKey = false }) => ({
    origin: originOf(at, isOfKey),
    path: pathText(at),
    message,
  }));
  return { given, problems };
}

/** Duplicate keys, which the tree ignores when it is asked for values. */
function doubledKeys(tree: YamlTree, value: unknown, path: Path = []): YamlTree['complaints'] {
  if (Array.isArray(value)) return value.flatMap((part, i) => doubledKeys(tree, part, [...path, i]));
  if (!(value instanceof Map)) return [];
  const own = tree.mapping(tree.within(tree.root, path))?.complaints ?? [];
  return [...own, ...[...value].flatMap(([key, part]) => doubledKeys(tree, part, [...path, String(key)]))];
}
