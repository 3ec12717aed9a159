/** What is behind the addresses of the page. Requests have passed the guard. */
import { LOAD_PAGE_FILES, loadPage } from '@batchwise/dashboard';
import { LoadError } from '../load-error.js';
import type { LoadReport } from '../report/load-report.js';
import { failuresCsv, historyCsv, statsCsv } from '../report/locust-csv.js';
import { reportHtml } from '../report/report-html.js';
import { reportJson } from '../report/report-json.js';
import type { RunSpec } from '../run/load-run.js';
import { jsonAnswer, type PageAnswer, problemAnswer } from './page-answer.js';
import type { Obstacle, RunControl } from './run-control.js';
import { runSpecOf, usersOf } from './start-request.js';

/** By the name of the file, how it is made from the report. */
export type Downloads = Readonly<Record<DownloadName, (report: LoadReport) => string>>;

export type DownloadName = 'report.html' | 'report.json' | 'stats.csv' | 'history.csv' | 'failures.csv';

export const REPORTS: Downloads = {
  'report.html': reportHtml,
  'report.json': reportJson,
  'stats.csv': statsCsv,
  'history.csv': historyCsv,
  'failures.csv': failuresCsv,
};

const TITLE = 'Load test';

const DOWNLOAD_TYPES: Readonly<Record<DownloadName, string>> = {
  'report.html': 'text/html; charset=utf-8',
  'report.json': 'application/json',
  'stats.csv': 'text/csv; charset=utf-8',
  'history.csv': 'text/csv; charset=utf-8',
  'failures.csv': 'text/csv; charset=utf-8',
};

type Post = (body: unknown) => Obstacle | Promise<Obstacle>;

export class PageRoutes {
  readonly #control: RunControl;
  readonly #downloads: Downloads;
  readonly #posts: ReadonlyMap<string, Post>;
  readonly #files = new Map(LOAD_PAGE_FILES.map((file) => [`/${file.name}`, file]));

  constructor(control: RunControl, initial: RunSpec, downloads: Downloads) {
    this.#control = control;
    this.#downloads = downloads;
    this.#posts = new Map<string, Post>([
      ['/start', (body) => control.start(runSpecOf(body, initial))],
      ['/stop', () => control.stop()],
      ['/reset', () => control.reset()],
      [
        '/users',
        (body) => {
          const { users, spawnRate } = usersOf(body);
          return control.setUsers(users, spawnRate);
        },
      ],
    ]);
  }

  /** The page and its modules are the same for every run. */
  isPrivate(path: string): boolean {
    return path !== '/' && !this.#files.has(path);
  }

  /** The method of a path; undefined where nothing is. */
  methodOf(path: string): 'GET' | 'POST' | undefined {
    if (this.#posts.has(path)) return 'POST';
    const isThere = !this.isPrivate(path) || path === '/report.json' || downloadOf(path) !== undefined;
    return isThere ? 'GET' : undefined;
  }

  async get(path: string, query: URLSearchParams): Promise<PageAnswer> {
    if (path === '/') return htmlAnswer(loadPage(TITLE));
    if (path === '/report.json') {
      return jsonAnswer(this.#control.state(wholeOf(query.get('run')), wholeOf(query.get('since'))));
    }
    const download = downloadOf(path);
    if (download !== undefined) return this.#download(download);
    const file = this.#files.get(path);
    if (file === undefined) return problemAnswer(404, `There is no route for GET ${path}.`);
    // Not kept: the modules name each other without a version.
    const headers = { 'content-type': file.contentType, 'cache-control': 'no-cache' };
    return { status: 200, headers, body: await file.read() };
  }

  async post(path: string, body: unknown): Promise<PageAnswer> {
    try {
      const obstacle = await this.#posts.get(path)?.(body);
      if (obstacle !== undefined) return problemAnswer(409, obstacle);
      return jsonAnswer({ state: this.#control.run?.state ?? 'ready' });
    } catch (error) {
      if (error instanceof LoadError) return problemAnswer(400, error.message);
      throw error;
    }
  }

  #download(name: DownloadName): PageAnswer {
    const report = this.#control.report;
    if (report === undefined) return problemAnswer(409, 'Nothing to download: there is no run yet.');
    const headers = {
      'content-type': DOWNLOAD_TYPES[name],
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    };
    return { status: 200, headers, body: this.#downloads[name](report) };
  }
}

function htmlAnswer(body: string): PageAnswer {
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
    body,
  };
}

function downloadOf(path: string): DownloadName | undefined {
  const name = /^\/download\/(.+)$/.exec(path)?.[1];
  return name !== undefined && Object.hasOwn(DOWNLOAD_TYPES, name) ? (name as DownloadName) : undefined;
}

/** 0 for anything that is no whole number. */
function wholeOf(text: string | null): number {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : 0;
}
