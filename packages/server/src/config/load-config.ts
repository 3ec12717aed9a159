/**
 * The configuration: flags over environment over file over defaults. Everything that is wrong with it is
 * found before any of it is used, and told at once.
 *
 *     const { settings } = loadConfig({ env: process.env, flags: { port: 8080 } });
 */
import { runnerNameProblems } from './check-runner-names.js';
import { combinationProblems } from './combinations.js';
import { ConfigError, type ConfigProblem } from './config-error.js';
import { readConfigFile } from './config-file.js';
import { type ConfigFlags, flagSettings } from './config-flags.js';
import { environmentSettings } from './environment-settings.js';
import { fileSettings, type SourceSettings } from './file-settings.js';
import { ROOT_KEYS, RUNNER_KEYS, type SettingKey, settingsOf } from './key-tree.js';
import type { LoadedConfig } from './loaded-config.js';
import type { RunnerOverrides, ServerSettings } from './server-settings.js';
import { type Assignment, type Assignments, assignmentPath } from './setting-assignment.js';
import { DEFAULT_ORIGIN, type Origin } from './setting-origin.js';
import { pathText } from './setting-path.js';

export interface LoadConfigOptions {
  /** The file of the flag; it overrides BATCHWISE_CONFIG. */
  readonly file?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly flags?: ConfigFlags;
  /**
   * The names of the runners, if known: settings of other runners are rejected, and variables match names with capitals
   * and dashes.
   */
  readonly runnerNames?: readonly string[] | undefined;
  /** @default that of the process */
  readonly cwd?: string;
}

const NOTHING: SourceSettings = { assignments: new Map(), problems: [] };

export function loadConfig({
  file,
  env = {},
  flags = {},
  runnerNames,
  cwd = process.cwd(),
}: LoadConfigOptions = {}): LoadedConfig {
  const configFile = readConfigFile({ cwd, file, env });
  const fromFile = configFile === undefined ? NOTHING : fileSettings(configFile);
  const fromFlags = flagSettings(flags);
  const names = runnerNames ?? namesIn(fromFile, fromFlags);
  const fromEnvironment = environmentSettings(env, names);
  const problems: ConfigProblem[] = [fromFile, fromEnvironment, fromFlags].flatMap(
    (source) => source.problems,
  );

  const assignments: Assignments = new Map();
  for (const source of [fromFile, fromEnvironment, fromFlags])
    for (const [path, assignment] of source.assignments) assignments.set(path, assignment);
  const loaded: LoadedConfig = {
    settings: settingsFrom(assignments),
    origins: originsOf(assignments),
    runnerNames: fromFile.runnerNames ?? new Map(),
    file: configFile?.name,
  };
  if (runnerNames !== undefined) problems.push(...runnerNameProblems(loaded, runnerNames));
  if (problems.length === 0) problems.push(...combinationProblems(loaded));
  if (problems.length > 0) throw new ConfigError(problems);
  return loaded;
}

/** The runners that the sources speak of: what variables may mean. */
function namesIn(...sources: readonly SourceSettings[]): string[] {
  const names = new Set<string>();
  for (const { assignments } of sources)
    for (const { owner, key, value } of assignments.values()) {
      if (owner[1] !== undefined) names.add(owner[1]);
      if (key.path[0] === 'models' && owner.length === 0)
        for (const { name } of value as ServerSettings['models']) names.add(name);
    }
  return [...names];
}

function settingsFrom(assignments: Assignments): ServerSettings {
  const settings: Record<string, unknown> = {};
  for (const key of settingsOf(ROOT_KEYS)) {
    const assignment = assignments.get(pathText(key.path));
    put(settings, key, assignment === undefined ? key.setting.default : assignment.value);
  }
  const all: Record<string, unknown> = {};
  const byName = new Map<string, Record<string, unknown>>();
  for (const assignment of inSchemaOrder(assignments)) {
    const [, name] = assignment.owner;
    if (name === undefined) put(all, assignment.key, assignment.value);
    else {
      const overrides = byName.get(name) ?? {};
      byName.set(name, overrides);
      put(overrides, assignment.key, assignment.value);
    }
  }
  settings.runners = { all, byName: byName as ReadonlyMap<string, RunnerOverrides> };
  for (const overrides of byName.values()) deepFreeze(overrides);
  return deepFreeze(settings) as unknown as ServerSettings;
}

/** Those of runners, so that the same settings look the same wherever they came from. */
function inSchemaOrder(assignments: Assignments): Assignment[] {
  const order = new Map(settingsOf(RUNNER_KEYS).map((key, i) => [key, i]));
  return [...assignments.values()]
    .filter(({ owner }) => owner.length > 0)
    .sort((a, b) => (order.get(a.key) ?? 0) - (order.get(b.key) ?? 0));
}

/** The fields are those of the schema: nothing from outside becomes a property here. */
function put(target: Record<string, unknown>, { fields }: SettingKey, value: unknown): void {
  let object = target;
  for (const field of fields.slice(0, -1)) {
    object[field] ??= {};
    object = object[field] as Record<string, unknown>;
  }
  object[fields.at(-1) as string] = value;
}

function originsOf(assignments: Assignments): Map<string, Origin> {
  const origins = new Map<string, Origin>();
  for (const { path } of settingsOf(ROOT_KEYS)) origins.set(pathText(path), DEFAULT_ORIGIN);
  for (const { path } of settingsOf(RUNNER_KEYS)) origins.set(pathText(['runners', ...path]), DEFAULT_ORIGIN);
  for (const assignment of assignments.values()) origins.set(assignmentPath(assignment), assignment.origin);
  return origins;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Map || Object.isFrozen(value))
    return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
