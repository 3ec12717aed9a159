/** One setting of the proxy: its flag, key, variable and reference. */
import type { SettingKind } from '@batchwise/server';
import type { ProxyField, ProxySettings } from './proxy-settings.js';

export interface ProxySetting<F extends ProxyField = ProxyField> extends SettingText {
  /** The key in the file; in capitals, a part of the variable. */
  readonly key: string;
  readonly field: F;
  readonly kind: SettingKind<unknown>;
}

export interface SettingText {
  /** For the reference. The first sentence is the help of the flag. */
  readonly meaning: string;
  /** The default: a value in the syntax of the file, or words. */
  readonly default: string;
  /** `--port <number>`; undefined for a setting of file and environment only. */
  readonly flag?: string;
  /** The flag may be given several times. */
  readonly isRepeated?: boolean;
  /** If it is not the field in snake case: an alias, or another unit. */
  readonly key?: string;
}

/** Checks the type of the kind against the field. */
export function proxySetting<F extends ProxyField>(
  field: F,
  kind: SettingKind<NonNullable<ProxySettings[F]>>,
  text: SettingText,
): ProxySetting<F> {
  const key = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { key, ...text, field, kind: kind as SettingKind<unknown> };
}
