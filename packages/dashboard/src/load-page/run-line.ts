/** The state of the run in a line, what it sends where, and the buttons that change it. */
import { element, setText } from '../page/dom.js';
import { count, duration } from '../page/numbers.js';
import type { LoadPageReport, LoadPageRunState, LoadPageState } from './page-state.js';

export interface RunActions {
  stop(): void;
  reset(): void;
  editUsers(): void;
  newRun(): void;
}

const STATES: Readonly<Record<LoadPageRunState, string>> = {
  ready: 'Ready to start',
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping: waiting for the last responses',
  ended: 'Ended',
};

export class RunLine {
  readonly element: HTMLElement;
  readonly buttons: HTMLElement;
  readonly #state = element('p', { className: 'state', role: 'status' }, 'Connecting …');
  readonly #facts = element('p', { className: 'facts' });
  readonly #stop = element('button', { type: 'button', className: 'danger' }, 'Stop');
  readonly #edit = element('button', { type: 'button' }, 'Edit users');
  readonly #new = element('button', { type: 'button' }, 'New run');
  readonly #reset = element('button', { type: 'button' }, 'Reset');

  constructor(actions: RunActions) {
    this.element = element('div', { className: 'server' }, this.#state, this.#facts);
    this.buttons = element('div', { className: 'buttons' }, this.#stop, this.#edit, this.#new, this.#reset);
    this.#stop.addEventListener('click', () => actions.stop());
    this.#edit.addEventListener('click', () => actions.editUsers());
    this.#new.addEventListener('click', () => actions.newRun());
    this.#reset.addEventListener('click', () => actions.reset());
    this.#showButtons('ready', undefined);
  }

  show({ state, report }: LoadPageState): void {
    this.#state.dataset.state = state;
    setText(this.#state, STATES[state]);
    setText(this.#facts, report === undefined ? '' : factsOf(report));
    this.#showButtons(state, report);
  }

  showSilence(why: string): void {
    this.#state.dataset.state = 'silent';
    setText(this.#state, `No connection: ${why}. Retrying.`);
    this.#showButtons('ready', undefined);
  }

  #showButtons(state: LoadPageRunState, report: LoadPageReport | undefined): void {
    this.#stop.hidden = state !== 'running' && state !== 'stopping';
    this.#stop.disabled = state === 'stopping';
    this.#edit.hidden = state !== 'running' || report?.traffic.kind !== 'users';
    this.#new.hidden = state !== 'ended';
    this.#reset.hidden = state !== 'running' && state !== 'ended';
    this.#reset.title =
      state === 'running'
        ? 'Discards the figures so far; the run continues'
        : 'Discards the figures and returns to the start form';
  }
}

function factsOf({ target, traffic, seconds, targetLatencyMs }: LoadPageReport): string {
  return [
    duration(seconds),
    target,
    traffic.kind === 'users'
      ? `${count(traffic.users)} users, ${count(traffic.spawnRate)}/s, wait time ${traffic.waitTime}`
      : traffic.text,
    ...(targetLatencyMs === undefined ? [] : [`target ${count(targetLatencyMs)} ms`]),
  ].join(' · ');
}
