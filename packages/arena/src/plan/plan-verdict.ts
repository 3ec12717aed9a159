/** The answer of a plan in one or two sentences: whether the target is held, and otherwise what is needed. */
import type { Plan } from './plan.js';
import { writtenMs, writtenRate, writtenShare, writtenSlots, writtenTarget } from './plan-notation.js';
import { MOST_SLOTS } from './plan-request.js';

export function answerOf(plan: Plan): string {
  const { asked, verdict, settings, expected, largest, slotsNeeded } = plan;
  const rate = writtenRate(asked.perSecond);
  const target = writtenTarget(asked.targetMs);
  switch (verdict.kind) {
    case 'holds': {
      const onTime = writtenShare(expected?.goodput ?? Number.NaN);
      return `Yes: ${writtenSlots(settings?.concurrency ?? 1)} can serve ${rate} within ${target}, ${onTime} of them on time.`;
    }
    case 'too few slots': {
      const { lowestTargetMs } = verdict;
      const slots = writtenSlots(asked.slots ?? 1);
      const onTime = expected === undefined ? 'very few' : `only ${writtenShare(expected.goodput)}`;
      const orTarget =
        lowestTargetMs === undefined
          ? ''
          : `, or a target of at least ${writtenTarget(lowestTargetMs)} with ${slots}`;
      return (
        `No: with ${slots}, ${onTime} of ${rate} are served within ${target}. ` +
        `Needed: ${writtenSlots(slotsNeeded ?? MOST_SLOTS)}${orTarget}.`
      );
    }
    case 'target too low': {
      const alone = `a batch of 1 takes ${writtenMs(asked.aloneMs)}${asked.aloneMs > asked.targetMs ? '' : ', and too often longer than the target'}`;
      const needed =
        verdict.lowestTargetMs === undefined
          ? 'Needed: a higher target, and a lower rate or more slots.'
          : `Needed: a target of at least ${writtenTarget(verdict.lowestTargetMs)} for ${rate} with ${writtenSlots(verdict.slots)}.`;
      return `No: no rate can be served within ${target}, because ${alone}. ${needed}`;
    }
    case 'rate too high': {
      const { slotsNeeded: about } = verdict;
      const slots = writtenSlots(settings?.concurrency ?? MOST_SLOTS);
      const held =
        largest === undefined ? 'hold no rate of this traffic' : `hold ${writtenRate(largest.perSecond)}`;
      const needed =
        about === undefined
          ? `more than ${MOST_SLOTS} slots`
          : `about ${about.toLocaleString('en')} slots, more than the ${MOST_SLOTS} that are simulated`;
      return `No: ${slots} ${held} within ${target}, not ${rate}. Needed: ${needed}; or a faster backend.`;
    }
  }
}
