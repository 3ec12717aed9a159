/** The rules of `adaptive()` that the arena removes one at a time, to measure what each of them gains. */
export const RULES = [
  'on-time window',
  'plan',
  'quickest size',
  'forecast',
  'probing',
  'wait until fuller',
  'leap in size',
  'of the patient',
  'evenly spread',
  'quickest or above',
] as const;

export type Rule = (typeof RULES)[number];
