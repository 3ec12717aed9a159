/** What a changed configuration changes, and how much of that a running server can take over. */
import { ROOT_KEYS, type SettingKey, settingsOf } from './key-tree.js';
import { runnerSettingKeys, valueAt } from './resolve-runner.js';
import type { ServerSettings } from './server-settings.js';
import type { Plain } from './setting-kind.js';
import { pathText } from './setting-path.js';

export interface SettingChange {
  /** `runners.iris.batching.max_batch_size` */
  readonly path: string;
  /** As it is written in the file. */
  readonly from: Plain;
  readonly to: Plain;
}

export interface ReloadableDiff {
  /** What counts from now on. */
  readonly live: readonly SettingChange[];
  /** What counts after the next start only. */
  readonly restart: readonly SettingChange[];
}

export function diffReloadable(before: ServerSettings, after: ServerSettings): ReloadableDiff {
  const live: SettingChange[] = [];
  const restart: SettingChange[] = [];
  const compare = (path: readonly string[], key: SettingKey, from: Plain, to: Plain) => {
    if (JSON.stringify(from) === JSON.stringify(to)) return;
    (key.isLive ? live : restart).push({ path: pathText(path), from, to });
  };
  for (const key of settingsOf(ROOT_KEYS))
    compare(key.path, key, written(key, valueAt(before, key)), written(key, valueAt(after, key)));
  for (const key of runnerSettingKeys())
    compare(['runners', ...key.path], key, valueForAll(before, key), valueForAll(after, key));
  const names = new Set([...before.runners.byName.keys(), ...after.runners.byName.keys()]);
  for (const name of names)
    for (const key of runnerSettingKeys()) {
      // What it only inherits has been told with what is for all.
      if (own(before, name, key) === undefined && own(after, name, key) === undefined) continue;
      compare(
        ['runners', name, ...key.path],
        key,
        valueForOne(before, name, key),
        valueForOne(after, name, key),
      );
    }
  return { live, restart };
}

/** `server.port: 3000 → 8080` */
export function changeText({ path, from, to }: SettingChange): string {
  return `${path}: ${plainText(from)} → ${plainText(to)}`;
}

function plainText(value: Plain): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function own(settings: ServerSettings, name: string, key: SettingKey) {
  return valueAt(settings.runners.byName.get(name), key);
}

function valueForOne(settings: ServerSettings, name: string, key: SettingKey): Plain {
  const found = own(settings, name, key);
  return found === undefined ? valueForAll(settings, key) : written(key, found);
}

function valueForAll(settings: ServerSettings, key: SettingKey): Plain {
  const found = valueAt(settings.runners.all, key);
  if (found !== undefined) return written(key, found);
  return key.setting.defaultText === undefined ? written(key, { value: key.setting.default }) : 'default';
}

function written({ setting }: SettingKey, found: { readonly value: unknown } | undefined): Plain {
  return found === undefined ? null : setting.kind.write(found.value);
}
