/**
 * Throughput of a closed loop whose users are split equally among the slots: N / (Z + T(N/k)). With one slot and a
 * think time that is short compared with a batch, every batch contains all users and the latency is T(N). Not a
 * bound: with longer think times, smaller batches may be better.
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
  // With more users than the slots can batch, the slots are the bottleneck.
  const most = slots * capacity(curve).perMs;
  const perMs = Math.min(most, users / (thinkMs + curve.durationMs(share)));
  return { perMs, meanMs: users / perMs - thinkMs };
}
