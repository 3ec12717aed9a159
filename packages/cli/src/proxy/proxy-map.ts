/** A map of settings as a kind. Reports unknown keys, invalid values and duplicate settings with their positions. */
import {
  acceptSetting,
  describeValue,
  type SettingComplaint,
  type SettingContext,
  type SettingKind,
  type SettingVerdict,
} from '@batchwise/server';
import { didYouMean } from 'batchwise';

export interface MapEntry<F extends string> {
  /** `max_wait_ms`. Several keys may set the same field. */
  readonly key: string;
  readonly field: F;
  readonly kind: SettingKind<unknown>;
}

/** The values of a map by field, with their keys. */
export type GivenByField<F extends string> = ReadonlyMap<
  F,
  { readonly key: string; readonly value: unknown }
>;

export function parseMap<F extends string>(
  value: unknown,
  entries: readonly MapEntry<F>[],
  context: SettingContext,
): SettingVerdict<GivenByField<F>> {
  const keys = entries.map(({ key }) => key);
  if (!(value instanceof Map)) {
    const message = `expected a map with ${keys.join(', ')}, got ${describeValue(value)}.`;
    return { complaints: [{ at: [], message }] };
  }
  const complaints: SettingComplaint[] = [];
  const given = new Map<F, { key: string; value: unknown }>();
  for (const [key, part] of value as ReadonlyMap<string, unknown>) {
    // Keys for anchors, as in Compose files.
    if (key.startsWith('x-')) continue;
    const entry = entries.find((known) => known.key === key);
    if (entry === undefined) {
      const hint = didYouMean(key, keys) || ` There are ${keys.join(', ')}.`;
      complaints.push({ at: [key], message: `unknown key.${hint}`, isOfKey: true });
      continue;
    }
    const other = given.get(entry.field);
    if (other !== undefined) complaints.push({ at: [key], message: sameSetting(other.key), isOfKey: true });
    const verdict = entry.kind.parse(part, context);
    if ('value' in verdict) given.set(entry.field, { key, value: verdict.value });
    else
      complaints.push(
        ...verdict.complaints.map((complaint) => ({ ...complaint, at: [key, ...complaint.at] })),
      );
  }
  return complaints.length > 0 ? { complaints } : acceptSetting(given);
}

/** Message about a setting that another key has set. */
export function sameSetting(other: string): string {
  return `the same setting as ${other}. Keep one.`;
}
