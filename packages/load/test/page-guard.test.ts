/** Which requests the server of the load page answers. */
import { describe, expect, test } from 'vitest';
import { type GuardedRequest, PageGuard } from '../src/page/page-guard.js';

const JSON_TYPE = { 'content-type': 'application/json' };

function request(headers: GuardedRequest['headers'], more: Partial<GuardedRequest> = {}): GuardedRequest {
  return { method: 'GET', queryToken: null, isPrivate: true, headers, ...more };
}

function post(headers: GuardedRequest['headers'], more: Partial<GuardedRequest> = {}): GuardedRequest {
  return request({ host: 'localhost:8089', ...JSON_TYPE, ...headers }, { method: 'POST', ...more });
}

describe('at a loopback address', () => {
  const guard = new PageGuard('127.0.0.1', undefined);

  test.each(['localhost', 'localhost:8089', 'LOCALHOST.:1', '127.0.0.1:8089', '[::1]:8089', 'a.localhost'])(
    'Host %s is answered',
    (host) => expect(guard.refusal(request({ host }))).toBeUndefined(),
  );

  test.each(['example.org', 'localhost.example.org', '127.0.0.1.example.org', '192.0.2.1', '', 'a b'])(
    'Host %j is refused, against DNS rebinding',
    (host) => expect(guard.refusal(request({ host }))?.status).toBe(421),
  );

  test('a request without Host is refused', () => {
    expect(guard.refusal(request({}))?.status).toBe(421);
  });

  test('the page is refused under another name as well', () => {
    expect(guard.refusal(request({ host: 'example.org' }, { isPrivate: false }))?.status).toBe(421);
  });
});

describe('a POST', () => {
  const guard = new PageGuard('::1', undefined);

  test.each([
    {},
    { origin: 'http://localhost:8089' },
    { origin: 'http://localhost:8089', 'sec-fetch-site': 'same-origin' },
  ])('with %j is answered', (headers) => expect(guard.refusal(post(headers))).toBeUndefined());

  test.each([
    { origin: 'http://example.org' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:8089' },
    { 'sec-fetch-site': 'none' },
  ])('with %j is refused', (headers) => expect(guard.refusal(post(headers))?.status).toBe(403));

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''])(
    'with the content type %j is refused',
    (type) => expect(guard.refusal(post({ 'content-type': type }))?.status).toBe(415),
  );

  test('may name its charset', () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect(guard.refusal(post(headers))).toBeUndefined();
  });
});

describe('a token', () => {
  const guard = new PageGuard('0.0.0.0', 'secret');
  const host = 'load.example.org';

  test('is needed for figures and changes, and not for the page', () => {
    expect(guard.refusal(request({ host }))?.status).toBe(401);
    expect(guard.refusal(post({ host }))?.status).toBe(401);
    expect(guard.refusal(request({ host }, { isPrivate: false }))).toBeUndefined();
  });

  test.each(['Bearer secret', 'bearer  secret'])('is given by %j', (authorization) => {
    expect(guard.refusal(request({ host, authorization }))).toBeUndefined();
    expect(guard.refusal(post({ host, authorization }))).toBeUndefined();
  });

  test.each(['Bearer other', 'Bearer', 'Bearer secret2', 'Basic secret', 'secret'])(
    'is not given by %j',
    (authorization) => expect(guard.refusal(request({ host, authorization }))?.status).toBe(401),
  );

  test('may be in the address of what is read, and not of what is changed', () => {
    expect(guard.refusal(request({ host }, { queryToken: 'secret' }))).toBeUndefined();
    expect(guard.refusal(request({ host }, { queryToken: 'other' }))?.status).toBe(401);
    expect(guard.refusal(post({ host }, { queryToken: 'secret' }))?.status).toBe(401);
  });

  test('does not make up for a request of another site', () => {
    const headers = { host, authorization: 'Bearer secret', origin: 'http://example.org' };
    expect(guard.refusal(post(headers))?.status).toBe(403);
  });
});
