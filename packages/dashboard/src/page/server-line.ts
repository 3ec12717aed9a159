/** How the server is, in a line: whether it takes requests, since when it runs, and what it uses. */
import { element, setText } from './dom.js';
import { bytes, duration, milliseconds, percent } from './numbers.js';
import type { ServerReading } from './reading.js';

export type State =
  | { readonly is: 'asking' }
  | { readonly is: 'ready' }
  | { readonly is: 'not-ready'; readonly why: string }
  | { readonly is: 'silent'; readonly why: string };

export class ServerLine {
  readonly element: HTMLElement;
  readonly #state = element('p', { className: 'state', role: 'status' });
  readonly #facts = element('p', { className: 'facts' });

  constructor() {
    this.element = element('div', { className: 'server' }, this.#state, this.#facts);
    this.showState({ is: 'asking' });
  }

  showState(state: State): void {
    this.#state.dataset.state = state.is;
    setText(this.#state, stateText(state));
  }

  show(server: ServerReading): void {
    const processes = [...server.processes].map(([kind, many]) => `${many} ${kind}`).join(', ');
    const facts = [
      `version ${server.version}`,
      `up ${duration(Date.now() / 1000 - server.startedAt)}`,
      `processes: ${processes}`,
      ...(server.restarts > 0 ? [`restarts: ${server.restarts}`] : []),
      `CPU ${percent(server.cpuShare)} of a core`,
      bytes(server.memoryBytes),
      `event-loop lag ${milliseconds(server.lagP99Ms)} (p99)`,
    ];
    setText(this.#facts, facts.join(' · '));
  }
}

function stateText(state: State): string {
  switch (state.is) {
    case 'asking':
      return 'Connecting …';
    case 'ready':
      return 'Ready';
    case 'not-ready':
      return state.why;
    case 'silent':
      return `No connection: ${state.why}. Retrying.`;
  }
}
