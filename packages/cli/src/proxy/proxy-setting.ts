/** One setting of the proxy, as the flags, the file, the environment and the reference see it. */
import type { SettingKind } from '@batchwise/server';
import type { ProxyField, ProxySettings } from './proxy-settings.js';

export interface ProxySetting<F extends ProxyField = ProxyField> extends SettingText {
  /** In the file; in capitals, in the name of the variable. */
  readonly key: string;
  readonly field: F;
  readonly kind: SettingKind<unknown>;
}

export interface SettingText {
  /** For the reference. The first sentence is the help of the flag. */
  readonly meaning: string;
  /** What counts where it is not said, in words; a value as the file has it. */
  readonly default: string;
  /** `--port <number>`; undefined for what only file and environment can say. */
  readonly flag?: string;
  /** The flag may be given several times. */
  readonly isRepeated?: boolean;
  /** Where it is not the field in snake case: another word for the same, or another unit. */
  readonly key?: string;
}

/** Holds the kind to the type of the field. */
export function proxySetting<F extends ProxyField>(
  field: F,
  kind: SettingKind<NonNullable<ProxySettings[F]>>,
  text: SettingText,
): ProxySetting<F> {
  const key = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { key, ...text, field, kind: kind as SettingKind<unknown> };
}
