/** The traffic of a run, as reports state it. */
import type { TrafficFacts } from '../report/load-report.js';
import type { RunSpec } from './load-run.js';
import type { ArrivalSchedule } from './traffic.js';
import { waitTimeText } from './wait-time.js';

export function trafficFacts({ work, traffic, seconds }: RunSpec): TrafficFacts {
  if (traffic.kind === 'users') {
    const { users, spawnRate, waitTime } = traffic;
    const text = waitTimeText(waitTime);
    return {
      kind: 'users',
      users,
      spawnRate,
      waitTime: work.kind === 'scenario' ? `of the scenario, else ${text}` : text,
    };
  }
  const perSecond = meanRate(traffic.schedule, seconds);
  return {
    kind: 'arrivals',
    text: scheduleText(traffic.schedule),
    ...(perSecond !== undefined && { perSecond }),
  };
}

function scheduleText(schedule: ArrivalSchedule): string {
  switch (schedule.kind) {
    case 'constant':
    case 'poisson':
      return `${schedule.kind} ${schedule.perSecond}/s`;
    case 'gamma':
      return `gamma ${schedule.perSecond}/s, coefficient of variation ${schedule.variation}`;
    case 'steps':
      return `steps ${schedule.steps.map(({ perSecond }) => `${perSecond}/s`).join(', ')}`;
    case 'ramp':
      return `ramp ${schedule.from}/s to ${schedule.to}/s in ${schedule.seconds} s`;
    case 'trace':
      return `trace ${schedule.name}`;
  }
}

/** Over the run; undefined where it depends on when the run is stopped. */
function meanRate(schedule: ArrivalSchedule, seconds: number | undefined): number | undefined {
  switch (schedule.kind) {
    case 'constant':
    case 'poisson':
    case 'gamma':
      return schedule.perSecond;
    case 'steps': {
      if (seconds === undefined) return undefined;
      let expected = 0;
      let at = 0;
      schedule.steps.forEach((step, i) => {
        const isLast = i === schedule.steps.length - 1;
        const end = isLast ? seconds : Math.min(seconds, at + step.seconds);
        expected += step.perSecond * Math.max(0, end - at);
        at = end;
      });
      return expected / seconds;
    }
    case 'ramp': {
      if (seconds === undefined) return undefined;
      const { from, to } = schedule;
      const ramped = Math.min(seconds, schedule.seconds);
      const reached = from + ((to - from) * ramped) / schedule.seconds;
      return (((from + reached) / 2) * ramped + to * (seconds - ramped)) / seconds;
    }
    case 'trace':
      return undefined;
  }
}
