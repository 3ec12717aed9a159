/** A batcher with a gate behind it and a policy that the test writes, asked at times that are kept. */
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

/** Looks at every position there is. */
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
  const asked: number[] = [];
  const policy: Policy = {
    name: 'test',
    decide: (view, now) => {
      asked.push(now);
      return decide(view, now);
    },
  };
  const batcher = new Batcher(gate.handler, { clock, policy, ...options });
  const submit = (...items: number[]) => items.map((item) => outcomeOf(batcher.submit(item)));
  return { clock, gate, batcher, asked, submit };
}
