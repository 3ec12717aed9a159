/** Refusals of the proxy's admin server look like those of the model server. Neither package knows the other. */
import { expect, test } from 'vitest';
import { type AdminProblemCode, adminProblem } from '../../proxy/src/admin/admin-problem.js';
import { problemOf } from '../../server/src/http/problem.js';
import { RequestError } from '../../server/src/request-error.js';

const CODES = [
  'BAD_REQUEST',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'NOT_READY',
] as const satisfies readonly AdminProblemCode[];

test.each(CODES)('%s', (code) => {
  const headers = { allow: 'GET' };
  const { isFault: _, ...theirs } = problemOf(new RequestError(code, 'This is why.', { headers }), 'id-1');
  expect(adminProblem(code, 'This is why.', 'id-1', headers)).toEqual(theirs);
});

test('INTERNAL hides the cause', () => {
  const { status, headers, body } = problemOf(new Error('a secret'), 'id-1');
  const { detail } = JSON.parse(body) as { detail: string };
  expect(adminProblem('INTERNAL', detail, 'id-1')).toEqual({ status, headers, body });
});
