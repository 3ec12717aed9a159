import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HttpRoute } from '../../src/http/http-route.js';
import { Router } from '../../src/http/router.js';

function route(method: HttpRoute['method'], path: string): HttpRoute {
  return { method, path, handle: () => {} };
}

function routed(routes: readonly HttpRoute[], method: string, path: string) {
  const { route: found, params } = new Router(routes).find(method, path);
  return { path: found.path, params: Object.fromEntries(params) };
}

describe('finding a route', () => {
  const routes = [
    route('GET', '/'),
    route('GET', '/v2/models/{model}'),
    route('POST', '/v2/models/{model}/infer'),
    route('POST', '/v1/models/{model}:predict'),
    route('GET', '/v1/models/{model}'),
    route('GET', '/v1/models/special'),
    route('GET', '/files/{name}.css'),
    route('GET', '/files/{name}'),
  ];

  test('an exact path wins over a pattern, the more literal pattern over the less', () => {
    expect(routed(routes, 'GET', '/v1/models/special').path).toBe('/v1/models/special');
    expect(routed(routes, 'GET', '/files/a.css')).toEqual({
      path: '/files/{name}.css',
      params: { name: 'a' },
    });
    expect(routed(routes, 'GET', '/files/a.js')).toEqual({ path: '/files/{name}', params: { name: 'a.js' } });
  });

  test('a parameter may share its part with text', () => {
    expect(routed(routes, 'POST', '/v1/models/iris:predict').params).toEqual({ model: 'iris' });
    expect(routed(routes, 'POST', '/v1/models/a:b:predict').params).toEqual({ model: 'a:b' });
    expect(routed(routes, 'POST', '/v1/models/iris%3Apredict').params).toEqual({ model: 'iris' });
  });

  test('parameters are decoded, names that objects know are nothing special', () => {
    expect(routed(routes, 'POST', '/v2/models/m%C3%BCller%2Fv1/infer').params).toEqual({
      model: 'müller/v1',
    });
    expect(new Router(routes).find('POST', '/v2/models/__proto__/infer').params.get('model')).toBe(
      '__proto__',
    );
  });

  test('HEAD is answered by what answers GET', () => {
    expect(routed(routes, 'HEAD', '/').path).toBe('/');
    expect(routed(routes, 'HEAD', '/v2/models/iris').path).toBe('/v2/models/{model}');
  });

  test('one slash too many at the end is forgiven, two are not', () => {
    expect(routed(routes, 'POST', '/v2/models/iris/infer/').params).toEqual({ model: 'iris' });
    expect(() => routed(routes, 'POST', '/v2/models/iris/infer//')).toThrow(/There is no route for/);
  });

  test.each([
    '//',
    '/../',
    '/v2/models/',
    '/v2/models//infer',
    '/v2/models/../infer/x',
    '*',
    '',
    '/V2/models/a/infer',
  ])('%j is found nowhere', (path) => {
    expect(() => routed(routes, 'POST', path)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/NOT_FOUND|METHOD_NOT_ALLOWED/) }),
    );
  });

  test('the wrong method is told the right ones', () => {
    expect(() => routed(routes, 'DELETE', '/v1/models/special')).toThrow(
      expect.objectContaining({ code: 'METHOD_NOT_ALLOWED', headers: { allow: 'GET, HEAD' } }),
    );
    expect(() => routed(routes, 'GET', '/v2/models/iris/infer')).toThrow(
      expect.objectContaining({ code: 'METHOD_NOT_ALLOWED', headers: { allow: 'POST' } }),
    );
  });

  test('what is not found is pointed to the docs, and a long path is not repeated whole', () => {
    expect(() => routed(routes, 'GET', '/nope')).toThrow(/There is no route for GET \/nope\. .*\/docs/);
    expect(() => routed(routes, 'GET', `/${'x'.repeat(10_000)}`)).toThrow(/^.{0,300}$/);
  });

  test.each(['%', '%zz', '%ff', '%00', '%0d%0aset-cookie:x', '%7f'])(
    '%s in a path is refused with 400',
    (part) => {
      expect(() => routed(routes, 'POST', `/v2/models/${part}/infer`)).toThrow(
        expect.objectContaining({ code: 'BAD_REQUEST', where: 'path' }),
      );
    },
  );

  test('a path that came before is found again, by its own method, however many came in between', () => {
    const router = new Router(routes);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 300; i++) {
        for (const method of ['GET', 'HEAD', 'GET']) {
          const { route: found, params } = router.find(method, `/v1/models/m${i}`);
          expect([found.path, params.get('model')]).toEqual(['/v1/models/{model}', `m${i}`]);
        }
        expect(() => router.find('POST', `/v1/models/m${i}`)).toThrow(/expected GET or HEAD/);
      }
    }
  });

  test('whatever a parameter is, it comes out as it went in', () => {
    const router = new Router(routes);
    const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !/\p{Cc}/u.test(name));
    fc.assert(
      fc.property(names, (name) => {
        const { params } = router.find('POST', `/v2/models/${encodeURIComponent(name)}/infer`);
        expect(params.get('model')).toBe(name);
      }),
    );
  });
});

describe('routes that are refused', () => {
  test('the same method and path twice', () => {
    expect(() => new Router([route('GET', '/a'), route('GET', '/a')])).toThrow(
      'Route GET /a matches the same requests as GET /a.',
    );
    expect(() => new Router([route('GET', '/a/{x}'), route('GET', '/a/{y}')])).toThrow(
      'Route GET /a/{y} matches the same requests as GET /a/{x}.',
    );
  });

  test('other methods of a path may call its parameters otherwise', () => {
    const routes = [route('GET', '/a/{x}'), route('POST', '/a/{y}')];
    expect(routed(routes, 'GET', '/a/1').params).toEqual({ x: '1' });
    expect(routed(routes, 'POST', '/a/1').params).toEqual({ y: '1' });
  });

  test.each([
    ['a', /starts with a slash/],
    ['/a?b', /no query/],
    ['/a b', /white space/],
    ['/{a}{b}', /at most one \{name\}/],
    ['/{a', /at most one \{name\}/],
    ['/{a-b}', /at most one \{name\}/],
    ['/{a}/{a}', /a different name for each parameter/],
  ])('%s', (path, message) => {
    expect(() => new Router([route('GET', path)])).toThrow(message);
  });

  test('a method that there is not', () => {
    expect(() => new Router([route('GETT' as 'GET', '/a')])).toThrow(/expected one of GET, HEAD/);
  });
});
