/** The rules of `adaptive()` that the arena removes one at a time to measure what each gains. */
export const RULES = [
  'on-time window',
  'search all deadlines',
  'plan',
  'best size',
  'forecast',
  'probing',
] as const;

export type Rule = (typeof RULES)[number];
