/** For the other packages of this repository only: no part of the public API, and free to change with any version. */

export { adaptiveWithout, RULES, type Rule } from './policy/adaptive-policy.js';
export type { WholePolicy } from './policy/policy.js';
