/** A batcher with a gated handler and a policy of the test; records the times of its decisions. */
import {
  Batcher,
  type BatcherOptions,
  type Decision,
  type Policy,
  type QueueView,
  VirtualClock,
} from 'batchwise';
import { Gate } from './gate.js';
import { outcomeOf } from './outcome.js';

export const forever: Decision = { action: 'wait', until: Infinity };

/** Reads every position. */
export function positionsOf(view: QueueView) {
  return Array.from({ length: view.length }, (_, i) => ({
    arrivedAt: view.arrivedAt(i),
    cost: view.costAt(i),
    deadlineAt: view.deadlineAt(i),
  }));
}

export function deciding(decide: Policy['decide'], options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const decidedAt: number[] = [];
  const policy: Policy = {
    name: 'test',
    decide: (view, now) => {
      decidedAt.push(now);
      return decide(view, now);
    },
  };
  const batcher = new Batcher(gate.handler, { clock, policy, ...options });
  const submit = (...items: number[]) => items.map((item) => outcomeOf(batcher.submit(item)));
  return { clock, gate, batcher, decidedAt, submit };
}
