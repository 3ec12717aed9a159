/** The page: what the server says of itself once a second, drawn. */
import { element } from './dom.js';
import { History } from './history.js';
import { RequestsPanel } from './requests-panel.js';
import { RunnerPanel } from './runner-panel.js';
import { ServerLine } from './server-line.js';
import { watch } from './watch.js';

const header = document.querySelector('header') as HTMLElement;
const main = document.querySelector('main') as HTMLElement;

const history = new History();
const line = new ServerLine();
const requests = new RequestsPanel();
const runners = new Map<string, RunnerPanel>();

header.append(
  line.element,
  element(
    'nav',
    {},
    element('a', { href: 'docs' }, 'API docs'),
    element('a', { href: 'metrics' }, 'Metrics'),
  ),
);
main.append(requests.element);

void watch({
  stateIs: (state) => {
    line.showState(state);
    main.classList.toggle('stale', state.is === 'silent');
  },
  scraped: (scrape) => {
    history.add(scrape);
    const { latest } = history;
    if (latest === undefined) return;
    line.show(latest.server);
    requests.show(history);
    for (const name of latest.runners.keys()) panelOf(name).show(history);
    // A server that was started again may have others.
    for (const [name, panel] of runners) panel.element.hidden = !latest.runners.has(name);
  },
});

function panelOf(name: string): RunnerPanel {
  const known = runners.get(name);
  if (known !== undefined) return known;
  const panel = new RunnerPanel(name);
  runners.set(name, panel);
  main.append(panel.element);
  return panel;
}
