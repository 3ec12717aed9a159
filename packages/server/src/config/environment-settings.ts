/**
 * What the environment sets: `BATCHWISE__SERVER__PORT=8080`. Two underscores stand for a step down, case does
 * not matter, and every character of a runner's name that a variable cannot have is an underscore.
 */
import type { ConfigProblem } from './config-error.js';
import type { SourceSettings } from './file-settings.js';
import { type KeyNode, ROOT_KEYS, type SectionKey, type SettingKey } from './key-tree.js';
import { type Assignments, assignmentPath } from './setting-assignment.js';
import { type Origin, originText } from './setting-origin.js';
import { pathText, type SettingPath } from './setting-path.js';
import { valueOfText } from './text-value.js';
import { nearestKey, ownKeys } from './unknown-key.js';

const PREFIX = 'BATCHWISE__';
const STEP = '__';
/** Settings of `batchwise proxy`, which may run in the same environment. */
const PROXY_PREFIX = 'BATCHWISE__PROXY__';

/** `runners.iris-clf.timeout` is BATCHWISE__RUNNERS__IRIS_CLF__TIMEOUT. */
export function variableOf(path: SettingPath): string {
  return PREFIX + path.map((part) => wordOf(String(part))).join(STEP);
}

export function environmentSettings(
  env: Readonly<Record<string, string | undefined>>,
  runnerNames: readonly string[],
): SourceSettings {
  const assignments: Assignments = new Map();
  const problems: ConfigProblem[] = [];
  for (const variable of Object.keys(env).sort()) {
    const text = env[variable];
    // An empty variable is how a script or a compose file says that it has nothing to say.
    if (text === undefined || text === '' || variable.toUpperCase().startsWith(PROXY_PREFIX)) continue;
    const origin: Origin = { kind: 'environment', variable };
    const complain = (path: SettingPath, message: string) =>
      problems.push({ origin, path: pathText(path), message });
    if (!variable.startsWith(PREFIX)) {
      const meant = meantVariable(variable);
      if (meant !== undefined) complain([], `unknown variable. Did you mean ${meant}?`);
      continue;
    }
    const target = findTarget(variable, runnerNames);
    if ('message' in target) {
      complain([], target.message);
      continue;
    }
    const { owner, key } = target;
    const path = [...owner, ...key.path];
    const verdict = key.setting.kind.parse(valueOfText(text, key.setting.kind), { folder: '' });
    if ('complaints' in verdict) {
      for (const { at, message } of verdict.complaints)
        complain([...path, ...at], at.length === 0 ? message : `${pathText(at)}: ${message}`);
      continue;
    }
    const assignment = { owner, key, value: verdict.value, origin };
    const canonical = assignmentPath(assignment);
    const other = assignments.get(canonical);
    if (other !== undefined)
      complain(path, `the same setting as ${originText(other.origin)}: both are ${canonical}. Keep one.`);
    assignments.set(canonical, assignment);
  }
  return { assignments, problems };
}

type Target = { readonly owner: readonly string[]; readonly key: SettingKey } | { readonly message: string };

function findTarget(variable: string, runnerNames: readonly string[]): Target {
  let rest = variable.slice(PREFIX.length).toUpperCase();
  let node: KeyNode = ROOT_KEYS;
  let owner: readonly string[] = [];
  let reached = PREFIX;
  while (node.type === 'section') {
    if (rest === '') {
      if (node.shorthand === undefined) return { message: sectionMessage(reached, node) };
      node = node.shorthand;
      break;
    }
    const word = firstWord(rest);
    const next: KeyNode | undefined = keyByWord(node, word);
    let length = word.length;
    if (next !== undefined) {
      if (next.type === 'section' && next.named !== undefined) owner = ['runners'];
      node = next;
    } else if (node.named !== undefined && word !== '') {
      const name = longestName(rest, runnerNames);
      owner = ['runners', name ?? word.toLowerCase()];
      if (name !== undefined) length = wordOf(name).length;
      node = node.named;
    } else {
      return { message: unknownMessage(reached, word, node) };
    }
    reached += rest.slice(0, length) + STEP;
    rest = rest.slice(length + STEP.length);
  }
  if (rest !== '') return { message: `unknown variable. Did you mean ${reached.slice(0, -STEP.length)}?` };
  return { owner, key: node };
}

/** A name may have two underscores of its own; the longest that fits is meant. */
function longestName(rest: string, names: readonly string[]): string | undefined {
  let longest: string | undefined;
  for (const name of names) {
    const word = wordOf(name);
    const isFit = rest === word || rest.startsWith(word + STEP);
    if (isFit && (longest === undefined || word.length > wordOf(longest).length)) longest = name;
  }
  return longest;
}

function keyByWord(section: SectionKey, word: string): KeyNode | undefined {
  for (const [key, node] of section.keys) if (wordOf(key) === word) return node;
  return undefined;
}

function firstWord(rest: string): string {
  const end = rest.indexOf(STEP);
  return end === -1 ? rest : rest.slice(0, end);
}

function wordOf(name: string): string {
  return name.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '_');
}

function sectionMessage(reached: string, section: SectionKey): string {
  const first = [...section.keys.keys()].find((key) => section.keys.get(key)?.type === 'setting');
  const example = first === undefined ? '' : `, such as ${reached}${wordOf(first)}`;
  return `it names a section, expected one of its settings${example}.`;
}

function unknownMessage(reached: string, word: string, section: SectionKey): string {
  for (const [key, advice] of section.elsewhere)
    if (wordOf(key) === word) return `a key of BentoML: ${advice}.`;
  const meant = nearestKey(word.toLowerCase(), section);
  if (meant === undefined)
    return `unknown variable. There are ${ownKeys(section)
      .map((key) => reached + wordOf(key))
      .join(', ')}.`;
  return `unknown variable. Did you mean ${reached}${meant.split('.').map(wordOf).join(STEP)}?`;
}

/** One underscore too few would otherwise be passed over in silence. Single ones alone are the platform's. */
function meantVariable(variable: string): string | undefined {
  const match = /^BATCHWISE_([A-Z]+)__/i.exec(variable);
  const section = match?.[1] === undefined ? undefined : keyByWord(ROOT_KEYS, match[1].toUpperCase());
  return section === undefined ? undefined : variable.replace(/^BATCHWISE_/i, PREFIX);
}
