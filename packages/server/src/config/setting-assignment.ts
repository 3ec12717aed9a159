/** One value that a source gives a setting. */
import type { SettingKey } from './key-tree.js';
import type { Origin } from './setting-origin.js';
import { pathText } from './setting-path.js';

export interface Assignment {
  /** Whose setting it is: empty for the server's, `['runners']` for that of all, `['runners', 'iris']` for one's. */
  readonly owner: readonly string[];
  readonly key: SettingKey;
  /** Checked. */
  readonly value: unknown;
  readonly origin: Origin;
}

/** By the path of the setting. Later sources are put over earlier ones. */
export type Assignments = Map<string, Assignment>;

export function assignmentPath({ owner, key }: Pick<Assignment, 'owner' | 'key'>): string {
  return pathText([...owner, ...key.path]);
}
