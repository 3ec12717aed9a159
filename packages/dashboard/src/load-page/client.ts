/** What the page asks of its server. The token, where there is one, comes with the first address of the page. */
import { ask } from '../page/poll.js';
import type { LoadPageState } from './page-state.js';

const TOKEN_KEY = 'batchwise-load-token';
const SILENCE = 'the load generator does not respond';
/** Of a start: the target is checked first, which may take its time. */
const START_PATIENCE_MS = 60_000;

/** The server wants a token, or another one. */
export class TokenWanted extends Error {}

export class Client {
  #token: string | null;

  /** Takes the token out of the address, so that it is in no bookmark and in no history. */
  constructor() {
    const address = new URL(location.href);
    const given = address.searchParams.get('token');
    if (given !== null) {
      sessionStorage.setItem(TOKEN_KEY, given);
      address.searchParams.delete('token');
      history.replaceState(null, '', address);
    }
    this.#token = sessionStorage.getItem(TOKEN_KEY);
  }

  useToken(token: string): void {
    sessionStorage.setItem(TOKEN_KEY, token);
    this.#token = token;
  }

  async state({ run, since }: { run: number; since: number }): Promise<LoadPageState> {
    const response = await this.#ask(`report.json?run=${run}&since=${since}`);
    return (await response.json()) as LoadPageState;
  }

  /** @throws with the message of the server when it refuses */
  async post(path: 'start' | 'stop' | 'reset' | 'users', body: object = {}): Promise<void> {
    await this.#ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(START_PATIENCE_MS),
    });
  }

  async download(name: string): Promise<Blob> {
    const response = await this.#ask(`download/${name}`, { signal: AbortSignal.timeout(START_PATIENCE_MS) });
    return response.blob();
  }

  async #ask(address: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== null) headers.set('authorization', `Bearer ${this.#token}`);
    const response = await ask(address, SILENCE, { ...init, headers });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
    const message = String(problem.detail ?? `${address} returned ${response.status}`);
    throw response.status === 401 ? new TokenWanted(message) : new Error(message);
  }
}
