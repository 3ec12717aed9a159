/** How much traffic is remembered: short memories follow changes, long ones are exact. */

/** Batches in the means of costs, gaps and runs. */
export const BATCH_MEMORY = 32;
/** Arrivals in the rate of the moment, and in the hazards: off by a tenth at most, and quick to follow the traffic. */
export const RECENT_ARRIVALS = 128;
/** Arrivals in the steady rate. */
export const STEADY_ARRIVALS = 512;
