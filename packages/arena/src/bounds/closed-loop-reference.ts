/**
 * What a closed loop comes to when all slots take equal shares of its users: N / (Z + T(N/k)). With one
 * slot and a pause that is short against a batch, everybody is in every batch and waits T(N). Not a bound:
 * with longer pauses, smaller batches may do better.
 */
import { type Curve, capacity } from '../simulation/curve.js';

export interface ClosedLoopReference {
  readonly perMs: number;
  readonly meanMs: number;
}

export function closedLoopReference(
  curve: Curve,
  slots: number,
  users: number,
  thinkMs: number,
): ClosedLoopReference {
  const share = Math.min(Math.max(1, users / slots), curve.maxBatchSize);
  // More users than the slots hold wait for each other, and the slots run at their best rate.
  const most = slots * capacity(curve).perMs;
  const perMs = Math.min(most, users / (thinkMs + curve.durationMs(share)));
  return { perMs, meanMs: users / perMs - thinkMs };
}
