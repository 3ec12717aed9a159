/** What to say of a key that is not there. */

import { nearestWord } from 'batchwise';
import type { SectionKey } from './key-tree.js';

export function unknownKeyMessage(key: string, section: SectionKey): string {
  const advice = section.elsewhere.get(key);
  if (advice !== undefined) return `a key of BentoML: ${advice}.`;
  const meant = nearestKey(key, section);
  if (meant !== undefined) return `unknown key. Did you mean ${meant}?`;
  return `unknown key. There are ${ownKeys(section).join(', ')}.`;
}

export function ownKeys(section: SectionKey): string[] {
  return [...section.keys.keys()].filter((key) => !section.aliases.has(key));
}

/** Of the section itself; else the same word further in: `port` is meant to be `server.port`. */
export function nearestKey(key: string, section: SectionKey): string | undefined {
  const near = nearestWord(key, section.keys.keys());
  if (near !== undefined) return near;
  const deeper = pathsWithin(section);
  const last = nearestWord(key, deeper.keys());
  return last === undefined ? undefined : deeper.get(last);
}

/** By their last word; where two have the same, the first. */
function pathsWithin(
  section: SectionKey,
  prefix = '',
  found = new Map<string, string>(),
): Map<string, string> {
  for (const [key, node] of section.keys) {
    if (section.aliases.has(key)) continue;
    if (prefix !== '' && !found.has(key)) found.set(key, `${prefix}${key}`);
    if (node.type === 'section') pathsWithin(node, `${prefix}${key}.`, found);
  }
  return found;
}
