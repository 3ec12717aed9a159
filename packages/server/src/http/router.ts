/**
 * Finds the route of a request. A path without braces is one look-up; those with `{name}`s are compared
 * part by part, the most literal first. Paths are taken as they come: `//` and `..` mean nothing here, so
 * they are found nowhere. One slash too many at the end is forgiven.
 */
import { RequestError } from '../request-error.js';
import type { HttpRoute } from './http-route.js';

export interface RouteMatch {
  readonly route: HttpRoute;
  readonly params: ReadonlyMap<string, string>;
}

/** A part of a pattern: literal text, or text around one parameter. */
interface Part {
  readonly before: string;
  readonly name: string | undefined;
  readonly after: string;
}

interface Pattern {
  readonly parts: readonly Part[];
  readonly routes: Map<string, HttpRoute>;
}

const NO_PARAMS: ReadonlyMap<string, string> = new Map();
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const MAX_RECENT = 256;
const LONGEST_RECENT_PATH = 256;
const SHOWN_PATH_LENGTH = 200;

export class Router {
  readonly #exact = new Map<string, Map<string, HttpRoute>>();
  readonly #patterns: Pattern[] = [];
  /** Models are few, so the paths to them come again and again: no need to take each apart each time. */
  readonly #recent = new Map<string, RouteMatch>();

  constructor(routes: readonly HttpRoute[]) {
    for (const route of routes) this.#add(route);
    this.#patterns.sort((a, b) => comparePatterns(a.parts, b.parts));
  }

  /** Throws what the client is to be told: 404, 405, 400 for a path that cannot be decoded. */
  find(method: string, path: string): RouteMatch {
    const route = this.#exact.get(path)?.get(method);
    if (route !== undefined) return { route, params: NO_PARAMS };
    const recent = this.#recent.get(path);
    if (recent !== undefined && recent.route.method === method) return recent;
    const match = this.#search(method, path);
    if (path.length <= LONGEST_RECENT_PATH) {
      if (this.#recent.size >= MAX_RECENT) this.#recent.clear();
      this.#recent.set(path, match);
    }
    return match;
  }

  #search(method: string, path: string): RouteMatch {
    const shorter = path.length > 2 && path.endsWith('/') ? path.slice(0, -1) : undefined;
    const match = this.#match(method, path) ?? (shorter && this.#match(method, shorter));
    if (match) return match;

    const shown = `${method} ${path.length > SHOWN_PATH_LENGTH ? `${path.slice(0, SHOWN_PATH_LENGTH)}…` : path}`;
    const allowed = METHODS.filter(
      (other) => this.#match(other, path) ?? (shorter && this.#match(other, shorter)),
    );
    if (allowed.length === 0) {
      throw new RequestError('NOT_FOUND', `There is no route for ${shown}. /docs lists all routes.`);
    }
    throw new RequestError('METHOD_NOT_ALLOWED', `${shown}: expected ${allowed.join(' or ')}.`, {
      headers: { allow: allowed.join(', ') },
    });
  }

  #match(method: string, path: string): RouteMatch | undefined {
    const exact = routeFor(method, this.#exact.get(path));
    if (exact !== undefined) return { route: exact, params: NO_PARAMS };
    if (this.#patterns.length === 0) return undefined;

    const parts = partsOf(path);
    for (const pattern of this.#patterns) {
      const route = routeFor(method, pattern.routes);
      if (route === undefined) continue;
      const params = paramsOf(pattern.parts, parts);
      if (params !== undefined) return { route, params };
    }
    return undefined;
  }

  #add(route: HttpRoute): void {
    const { method, path } = route;
    if (!METHODS.includes(method)) {
      throw new Error(`Route ${method} ${path}: expected one of ${METHODS.join(', ')} as its method.`);
    }
    if (!/^\/[^\s?#]*$/.test(path)) {
      throw new Error(
        `Route ${method} ${path}: expected a path that starts with a slash and has no query, fragment or white space.`,
      );
    }
    const routes = /[{}]/.test(path) ? this.#patternRoutes(route) : this.#exactRoutes(route);
    const first = routes.get(method);
    if (first !== undefined) {
      throw new Error(`Route ${method} ${path} matches the same requests as ${method} ${first.path}.`);
    }
    routes.set(method, route);
  }

  #exactRoutes({ path }: HttpRoute): Map<string, HttpRoute> {
    const routes = this.#exact.get(path) ?? new Map<string, HttpRoute>();
    this.#exact.set(path, routes);
    return routes;
  }

  #patternRoutes({ method, path }: HttpRoute): Map<string, HttpRoute> {
    const parts = path
      .slice(1)
      .split('/')
      .map((text) => patternPart(text, `Route ${method} ${path}`));
    const names = parts.flatMap(({ name }) => name ?? []);
    if (new Set(names).size < names.length) {
      throw new Error(`Route ${method} ${path}: expected a different name for each parameter.`);
    }
    // Another method of the same path may call its parameters otherwise: then it is a pattern of its own.
    const same = this.#patterns.find(
      (pattern) =>
        comparePatterns(pattern.parts, parts) === 0 &&
        (pattern.routes.has(method) || pattern.parts.every(({ name }, i) => name === parts[i]?.name)),
    );
    const pattern = same ?? { parts, routes: new Map<string, HttpRoute>() };
    if (same === undefined) this.#patterns.push(pattern);
    return pattern.routes;
  }
}

/** What answers GET answers HEAD too: the transport leaves the body out. */
function routeFor(method: string, routes: ReadonlyMap<string, HttpRoute> | undefined): HttpRoute | undefined {
  return routes?.get(method) ?? (method === 'HEAD' ? routes?.get('GET') : undefined);
}

function patternPart(text: string, where: string): Part {
  if (!/[{}]/.test(text)) return { before: text, name: undefined, after: '' };
  const found = /^([^{}]*)\{(\w+)\}([^{}]*)$/.exec(text);
  if (found === null) throw new Error(`${where}: expected at most one {name} in a part, got "${text}".`);
  const [, before = '', name = '', after = ''] = found;
  return { before, name, after };
}

/** The more literal first; 0 when they stand for the same paths. */
function comparePatterns(a: readonly Part[], b: readonly Part[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let i = 0; i < a.length; i++) {
    const [left, right] = [a[i] as Part, b[i] as Part];
    const byKind = Number(left.name !== undefined) - Number(right.name !== undefined);
    if (byKind !== 0) return byKind;
    const byLength = right.before.length + right.after.length - (left.before.length + left.after.length);
    if (byLength !== 0) return byLength;
    const [leftText, rightText] = [`${left.before}{}${left.after}`, `${right.before}{}${right.after}`];
    if (leftText !== rightText) return leftText < rightText ? -1 : 1;
  }
  return 0;
}

function partsOf(path: string): string[] {
  const parts = path.slice(1).split('/');
  return path.includes('%') ? parts.map(decoded) : parts;
}

function decoded(part: string): string {
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch (cause) {
    throw new RequestError(
      'BAD_REQUEST',
      'expected UTF-8 in percent-encoding, got text that cannot be decoded.',
      {
        where: 'path',
        cause,
      },
    );
  }
  // No name contains them, and whoever repeats one in a header or a log should not have to think of it.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(text)) {
    throw new RequestError('BAD_REQUEST', 'expected no control characters, got an encoded one.', {
      where: 'path',
    });
  }
  return text;
}

function paramsOf(pattern: readonly Part[], parts: readonly string[]): Map<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  for (let i = 0; i < parts.length; i++) {
    const { before, name, after } = pattern[i] as Part;
    const text = parts[i] as string;
    const matches =
      name === undefined
        ? text === before
        : text.length > before.length + after.length && text.startsWith(before) && text.endsWith(after);
    if (!matches) return undefined;
  }
  const params = new Map<string, string>();
  for (let i = 0; i < parts.length; i++) {
    const { before, name, after } = pattern[i] as Part;
    const text = parts[i] as string;
    if (name !== undefined) params.set(name, text.slice(before.length, text.length - after.length));
  }
  return params;
}
