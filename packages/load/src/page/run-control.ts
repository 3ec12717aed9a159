/** The one run of a page: started, changed, stopped and discarded, and what the page is told of it. */
import type { LoadPageState, LoadSetup, LoadSetupSchedule } from '@batchwise/dashboard';
import type { LoadReport } from '../report/load-report.js';
import { formatVerdict } from '../report/notation.js';
import type { LoadRun, RunSpec } from '../run/load-run.js';
import type { ArrivalSchedule } from '../run/traffic.js';

/** What the page shows at most: it asks once a second, and must not burden the generator. */
const SHOWN_SECONDS = 3600;
const SHOWN_FAILURES = 100;

/** What cannot be done as things stand, and why. */
export type Obstacle = string | undefined;

export class RunControl {
  readonly #start: (spec: RunSpec) => Promise<LoadRun>;
  #setup: RunSpec;
  #run: LoadRun | undefined = undefined;
  /** Of what pages call a run: all that is between two resets. */
  #number = 0;
  #starting: Promise<LoadRun> | undefined = undefined;
  #isClosed = false;

  constructor(initial: RunSpec, start: (spec: RunSpec) => Promise<LoadRun>) {
    this.#setup = initial;
    this.#start = start;
  }

  get run(): LoadRun | undefined {
    return this.#run;
  }

  get report(): LoadReport | undefined {
    return this.#run?.report();
  }

  /** Rejected with what `start` is rejected with: the run that was before stays. */
  async start(spec: RunSpec): Promise<Obstacle> {
    if (this.#isClosed) return 'The load generator is closing.';
    if (this.#starting !== undefined) return 'A run is already starting.';
    if (this.#isUnderWay) return 'A run is in progress. Stop it first.';
    this.#starting = this.#start(spec);
    try {
      this.#run = await this.#starting;
      this.#number++;
      this.#setup = spec;
      return undefined;
    } finally {
      this.#starting = undefined;
    }
  }

  /** Starts no more, and ends the run, also one that is being started. */
  async close(): Promise<LoadReport | undefined> {
    this.#isClosed = true;
    const run = (await this.#starting?.catch(() => undefined)) ?? this.#run;
    await run?.stop();
    return run?.report();
  }

  /** Does not wait for the end. */
  stop(): Obstacle {
    if (!this.#isUnderWay) return 'No run is in progress.';
    void this.#run?.stop();
    return undefined;
  }

  /** Discards the figures: a run that is under way goes on, one that has ended is gone. */
  reset(): Obstacle {
    if (this.#starting !== undefined) return 'A run is starting.';
    if (this.#run?.state === 'stopping') return 'The run is stopping.';
    if (this.#run?.state === 'running') {
      this.#run.reset();
      // Pages drop the seconds that they know.
      this.#number++;
    } else {
      this.#run = undefined;
    }
    return undefined;
  }

  setUsers(users: number, spawnRate: number): Obstacle {
    const run = this.#run;
    if (run?.state !== 'running') return 'No run is in progress.';
    if (run.spec.traffic.kind !== 'users') return 'The run has an arrival rate and no users.';
    run.setUsers(users, spawnRate);
    return undefined;
  }

  /** With the seconds of the series that a page does not have: all, if it knows another run. */
  state(knownRun: number, since: number): LoadPageState {
    const report = this.report;
    const setup = setupOf(this.#setup);
    if (report === undefined) {
      const state = this.#starting !== undefined ? 'starting' : 'ready';
      return { run: this.#number, state, setup, failuresLeftOut: 0 };
    }
    const first = knownRun === this.#number ? since : 0;
    return {
      run: this.#number,
      state: this.#starting !== undefined ? 'starting' : report.state,
      setup,
      report: {
        ...report,
        series: report.series.slice(-SHOWN_SECONDS).filter(({ second }) => second >= first),
        failures: report.failures.slice(0, SHOWN_FAILURES),
        verdicts: report.verdicts.map((verdict) => ({ ...verdict, value: formatVerdict(verdict) })),
      },
      failuresLeftOut: Math.max(0, report.failures.length - SHOWN_FAILURES),
    };
  }

  get #isUnderWay(): boolean {
    return this.#run !== undefined && this.#run.state !== 'ended';
  }
}

/** Without what the form does not show, such as headers, which may hold secrets. */
function setupOf({ work, traffic, seconds, targetLatencyMs }: RunSpec): LoadSetup {
  return {
    work:
      work.kind === 'target'
        ? { kind: 'target', url: work.target.url }
        : {
            kind: 'scenario',
            file: work.file,
            ...(work.host !== undefined && { host: work.host }),
          },
    traffic:
      traffic.kind === 'users' ? traffic : { ...traffic, schedule: scheduleWithoutTimes(traffic.schedule) },
    ...(seconds !== undefined && { seconds }),
    ...(targetLatencyMs !== undefined && { targetLatencyMs }),
  };
}

function scheduleWithoutTimes(schedule: ArrivalSchedule): LoadSetupSchedule {
  return schedule.kind === 'trace' ? { kind: 'trace', name: schedule.name } : schedule;
}
