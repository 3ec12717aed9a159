/** A map of settings as a kind: unknown keys, wrong values and two words for one setting are told with their places. */
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
  /** `max_wait_ms`. Several may give the same field: other words for it. */
  readonly key: string;
  readonly field: F;
  readonly kind: SettingKind<unknown>;
}

/** What a map says, by field, and with which key. */
export type SaidByField<F extends string> = ReadonlyMap<F, { readonly key: string; readonly value: unknown }>;

export function parseMap<F extends string>(
  value: unknown,
  entries: readonly MapEntry<F>[],
  context: SettingContext,
): SettingVerdict<SaidByField<F>> {
  const keys = entries.map(({ key }) => key);
  if (!(value instanceof Map)) {
    const message = `expected a map with ${keys.join(', ')}, got ${describeValue(value)}.`;
    return { complaints: [{ at: [], message }] };
  }
  const complaints: SettingComplaint[] = [];
  const said = new Map<F, { key: string; value: unknown }>();
  for (const [key, part] of value as ReadonlyMap<string, unknown>) {
    // A place for anchors, as Compose files have it.
    if (key.startsWith('x-')) continue;
    const entry = entries.find((known) => known.key === key);
    if (entry === undefined) {
      const hint = didYouMean(key, keys) || ` There are ${keys.join(', ')}.`;
      complaints.push({ at: [key], message: `unknown key.${hint}`, isOfKey: true });
      continue;
    }
    const other = said.get(entry.field);
    if (other !== undefined) complaints.push({ at: [key], message: sameSetting(other.key), isOfKey: true });
    const verdict = entry.kind.parse(part, context);
    if ('value' in verdict) said.set(entry.field, { key, value: verdict.value });
    else
      complaints.push(
        ...verdict.complaints.map((complaint) => ({ ...complaint, at: [key, ...complaint.at] })),
      );
  }
  return complaints.length > 0 ? { complaints } : acceptSetting(said);
}

/** Completes the complaint about a second word for what another one has said. */
export function sameSetting(other: string): string {
  return `the same setting as ${other}. Keep one.`;
}
