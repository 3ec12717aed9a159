/**
 * Random scenarios (by seed) in which the adaptive policy is worse than greedy dispatch today. The list may only become
 * shorter: a scenario that is no longer harmed is removed from it.
 */
export const KNOWN_HARM: readonly number[] = [
  18, 20, 26, 34, 71, 79, 109, 114, 116, 162, 177, 195, 234, 288, 314, 318, 319, 355, 389, 404, 445, 453, 485,
  495, 511, 514, 525, 545, 550, 577, 579, 585, 589, 594, 604, 627, 637, 644, 663, 667, 669, 671, 694, 713,
  737, 743, 747, 749, 755, 784, 858, 862, 863, 878, 883, 887, 893, 898, 928, 934, 961, 976,
];
