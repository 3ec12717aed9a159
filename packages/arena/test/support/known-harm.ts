/**
 * Random scenarios (by seed) in which the adaptive policy is worse than greedy dispatch today. The list may only become
 * shorter: a scenario that is no longer harmed is removed from it.
 */
export const KNOWN_HARM: readonly number[] = [473, 485, 743];
