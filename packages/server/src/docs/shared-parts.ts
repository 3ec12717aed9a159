/** What all operations have in common: how they fail, what an answer tells of its batch, what a request may ask for. */
import type { TrustableHeader } from '../queue-options.js';
import type { Parameter, Reference, Response } from './open-api.js';

const PROBLEM = {
  type: 'object',
  description: 'What went wrong, as RFC 9457 has it.',
  required: ['type', 'title', 'status', 'detail', 'error', 'code', 'request_id'],
  properties: {
    type: { type: 'string', examples: ['urn:batchwise:error:BAD_REQUEST'] },
    title: { type: 'string', description: 'The same for all errors of a code.' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'What was expected, what came, and where.' },
    error: {
      type: 'string',
      description: 'The same, where clients of the Open Inference Protocol look.',
    },
    code: { type: 'string', description: 'What a program should look at.', examples: ['BAD_REQUEST'] },
    request_id: { type: 'string' },
    where: { type: 'string', description: 'The place in the request.', examples: ['body.sepal_length'] },
    retry_after_ms: { type: 'integer', minimum: 0 },
  },
} as const;

const RETRY_AFTER = {
  'Retry-After': { $ref: '#/components/headers/RetryAfter' },
  'Retry-After-Ms': { $ref: '#/components/headers/RetryAfterMs' },
};

const PROBLEMS = {
  BadRequest: problem('The request is wrong; `detail` says what was expected, what came and where.'),
  NotFound: problem('There is nothing of this name.'),
  TooLarge: problem('The body is larger than the server takes.'),
  UnsupportedMediaType: problem('The body is in a form that the server does not read.'),
  TooManyRequests: problem(
    'No answer can be expected in time, or too many requests wait already. Nothing was computed.',
    RETRY_AFTER,
  ),
  Failed: problem('The model or the server failed.'),
  Unavailable: problem('The model is not loaded yet, or the server is about to stop.', RETRY_AFTER),
  Late: problem('The answer was not ready by the deadline.'),
} as const;

const TIMEOUT = {
  Timeout: header('batchwise-timeout-ms', 'How long the answer is worth waiting for, in milliseconds.', {
    type: 'number',
    exclusiveMinimum: 0,
  }),
} as const;

/** In the document only where the server reads them. */
const TRUSTABLE: Readonly<Record<TrustableHeader, Readonly<Record<string, Parameter>>>> = {
  priority: {
    Priority: header('batchwise-priority', 'Higher goes first. What waits, ages upwards.', {
      type: 'integer',
      minimum: -100,
      maximum: 100,
    }),
  },
  tenant: {
    Tenant: header('batchwise-tenant', 'Tenants share a model evenly, however much each asks for.', {
      type: 'string',
      pattern: '^[!-~]{1,128}$',
    }),
  },
};

/** The headers that a request may have, by the name of their component. */
export function requestParameters(trusted: readonly TrustableHeader[]): Readonly<Record<string, Parameter>> {
  return Object.assign({ ...TIMEOUT }, ...trusted.map((name) => TRUSTABLE[name]));
}

export const SHARED_COMPONENTS = {
  schemas: { Problem: PROBLEM },
  responses: PROBLEMS,
  headers: {
    RetryAfter: { description: 'When to try again, in seconds.', schema: { type: 'integer', minimum: 1 } },
    RetryAfterMs: { description: 'The same in milliseconds.', schema: { type: 'integer', minimum: 0 } },
    BatchSize: { description: 'How many rows were computed together.', schema: { type: 'integer' } },
    QueueMs: { description: 'How long the request waited for its batch.', schema: { type: 'number' } },
    ComputeMs: { description: 'How long its batch took.', schema: { type: 'number' } },
  },
} as const;

const STATUSES = {
  400: 'BadRequest',
  404: 'NotFound',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  500: 'Failed',
  503: 'Unavailable',
  504: 'Late',
} as const satisfies Record<number, keyof typeof PROBLEMS>;

export function problems(...statuses: readonly (keyof typeof STATUSES)[]): Record<string, Reference> {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${STATUSES[status]}` }]),
  );
}

/** Headers of an answer that a runner had part in. */
export const TRACE_HEADERS: Readonly<Record<string, Reference>> = {
  'batchwise-batch-size': { $ref: '#/components/headers/BatchSize' },
  'batchwise-queue-ms': { $ref: '#/components/headers/QueueMs' },
  'batchwise-compute-ms': { $ref: '#/components/headers/ComputeMs' },
};

function problem(description: string, headers?: Response['headers']): Response {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

function header(name: string, description: string, schema: Parameter['schema']): Parameter {
  return { name, in: 'header', required: false, description, schema };
}
