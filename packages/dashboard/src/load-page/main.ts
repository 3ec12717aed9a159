/** The page of the load generator: starts, changes and stops a run, and shows what it measures once a second. */
import { element } from '../page/dom.js';
import { poll } from '../page/poll.js';
import { ChartsPanel } from './charts-panel.js';
import { Client, TokenWanted } from './client.js';
import { DownloadsPanel } from './downloads-panel.js';
import { FailuresPanel } from './failures-panel.js';
import { Overview } from './overview.js';
import type { LoadPageReport, LoadPageState } from './page-state.js';
import { RunLine } from './run-line.js';
import { Series } from './series.js';
import { SplitPanel } from './split-panel.js';
import { StartForm } from './start-form.js';
import { StatisticsPanel } from './statistics-panel.js';
import { Tabs } from './tabs.js';
import { TokenForm } from './token-form.js';
import { UsersDialog } from './users-dialog.js';

const header = document.querySelector('header') as HTMLElement;
const main = document.querySelector('main') as HTMLElement;

const client = new Client();
const series = new Series();
let report: LoadPageReport | undefined;
let isFilled = false;
/** Asked for with the button, beside the figures of a run that has ended. */
let isNewRunOpen = false;

const line = new RunLine({
  stop: () => void act(() => client.post('stop')),
  reset: () => void act(() => client.post('reset')),
  editUsers: () => report && users.open(report),
  newRun: () => {
    isNewRunOpen = !isNewRunOpen;
    form.element.hidden = !isNewRunOpen;
    if (isNewRunOpen) form.element.querySelector('input')?.focus();
  },
});
const form = new StartForm(async (body) => {
  await client.post('start', body);
  isNewRunOpen = false;
  await look();
});
const users = new UsersDialog(async (body) => {
  await client.post('users', body);
  await look();
});
const token = new TokenForm((given) => {
  client.useToken(given);
  void look();
});
const overview = new Overview();
const problem = element('p', { className: 'error', role: 'alert' });
const warnings = element('ul', { className: 'warnings', ariaLabel: 'Warnings' });
const statistics = new StatisticsPanel();
const charts = new ChartsPanel();
const failures = new FailuresPanel();
const split = new SplitPanel();
const tabs = new Tabs('Figures of the run', [
  { name: 'Statistics', panel: statistics.element },
  { name: 'Charts', panel: charts.element },
  { name: 'Failures', panel: failures.element },
  { name: 'Latency split', panel: split.element },
  { name: 'Downloads', panel: new DownloadsPanel(client).element },
]);
const figures = element(
  'div',
  { className: 'figures', hidden: true },
  overview.element,
  warnings,
  tabs.element,
);

token.element.hidden = true;
form.element.hidden = true;
header.append(line.element, line.buttons);
main.append(problem, token.element, form.element, figures, users.element);
void poll(look);

async function look(): Promise<void> {
  try {
    show(await client.state(series.next));
    main.classList.remove('stale');
    token.element.hidden = true;
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof TokenWanted) {
      token.show(message);
      return;
    }
    line.showSilence(message);
    main.classList.add('stale');
  }
}

function show(state: LoadPageState): void {
  report = state.report;
  line.show(state);
  if (!isFilled) {
    form.fill(state.setup);
    isFilled = true;
  }
  form.element.hidden = !(state.state === 'ready' || state.state === 'starting' || isNewRunOpen);
  form.showStarting(state.state === 'starting');
  if (state.state !== 'running') users.element.close();
  figures.hidden = report === undefined;
  if (report === undefined) {
    series.clear();
    return;
  }
  series.add(state.run, report.series);
  const points = series.whole(state.state, report);
  overview.show(state.state, report, points);
  warnings.replaceChildren(...report.warnings.map((warning) => element('li', {}, warning)));
  statistics.show(report);
  charts.show(report, points);
  failures.show(report, state.failuresLeftOut);
  split.show(report, points);
}

/** What a button does, with the reason where the server refuses. */
async function act(post: () => Promise<void>): Promise<void> {
  problem.textContent = '';
  try {
    await post();
  } catch (error) {
    problem.textContent = (error as Error).message;
  }
  await look();
}
