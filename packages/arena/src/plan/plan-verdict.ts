/** The answer of a plan in one or two sentences: whether the target is held, and otherwise what is needed. */
import type { Plan } from './plan.js';
import { formatMs, formatRate, formatShare, formatSlots, formatTarget } from './plan-notation.js';
import { MAX_SLOTS } from './plan-request.js';

export function answerOf(plan: Plan): string {
  const { input, verdict, settings, expected, largest, slotsNeeded } = plan;
  const rate = formatRate(input.perSecond);
  const target = formatTarget(input.targetLatencyMs);
  switch (verdict.kind) {
    case 'holds': {
      const onTime = formatShare(expected?.goodput ?? Number.NaN);
      return `Yes: ${formatSlots(settings?.concurrency ?? 1)} can serve ${rate} within ${target}, ${onTime} of them on time.`;
    }
    case 'too few slots': {
      const { lowestTargetLatencyMs } = verdict;
      const slots = formatSlots(input.slots ?? 1);
      const onTime = expected === undefined ? 'very few' : `only ${formatShare(expected.goodput)}`;
      const orTarget =
        lowestTargetLatencyMs === undefined
          ? ''
          : `, or a target of at least ${formatTarget(lowestTargetLatencyMs)} with ${slots}`;
      return (
        `No: with ${slots}, ${onTime} of ${rate} are served within ${target}. ` +
        `Needed: ${formatSlots(slotsNeeded ?? MAX_SLOTS)}${orTarget}.`
      );
    }
    case 'target too low': {
      const alone = `a batch of 1 takes ${formatMs(input.aloneMs)}${input.aloneMs > input.targetLatencyMs ? '' : ', and too often longer than the target'}`;
      const needed =
        verdict.lowestTargetLatencyMs === undefined
          ? 'Needed: a higher target, and a lower rate or more slots.'
          : `Needed: a target of at least ${formatTarget(verdict.lowestTargetLatencyMs)} for ${rate} with ${formatSlots(verdict.slots)}.`;
      return `No: no rate can be served within ${target}, because ${alone}. ${needed}`;
    }
    case 'rate too high': {
      const { slotsNeeded: about } = verdict;
      const slots = formatSlots(settings?.concurrency ?? MAX_SLOTS);
      const held =
        largest === undefined ? 'hold no rate of this traffic' : `hold ${formatRate(largest.perSecond)}`;
      const needed =
        about === undefined
          ? `more than ${MAX_SLOTS} slots`
          : `about ${about.toLocaleString('en')} slots, more than the ${MAX_SLOTS} that are simulated`;
      return `No: ${slots} ${held} within ${target}, not ${rate}. Needed: ${needed}; or a faster backend.`;
    }
  }
}
