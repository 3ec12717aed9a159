/** What all operations have in common: how they fail, what an answer tells of its batch, what a request may ask for. */
import type { TrustableHeader } from '../queue-options.js';
import type { Parameter, Reference, Response } from './open-api.js';

const PROBLEM = {
  type: 'object',
  description: 'Problem details (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'error', 'code', 'request_id'],
  properties: {
    type: { type: 'string', examples: ['urn:batchwise:error:BAD_REQUEST'] },
    title: { type: 'string', description: 'The same for all errors with this code.' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'What was expected, what was received, and where.' },
    error: {
      type: 'string',
      description: 'The same as `detail`, for clients of the Open Inference Protocol.',
    },
    code: { type: 'string', description: 'The code for programs.', examples: ['BAD_REQUEST'] },
    request_id: { type: 'string' },
    where: { type: 'string', description: 'Location in the request.', examples: ['body.sepal_length'] },
    retry_after_ms: { type: 'integer', minimum: 0 },
  },
} as const;

const RETRY_AFTER = {
  'Retry-After': { $ref: '#/components/headers/RetryAfter' },
  'Retry-After-Ms': { $ref: '#/components/headers/RetryAfterMs' },
};

const PROBLEMS = {
  BadRequest: problem(
    'The request is invalid. `detail` says what was expected, what was received, and where.',
  ),
  NotFound: problem('There is no resource with this name.'),
  TooLarge: problem('The body is larger than the limit.'),
  UnsupportedMediaType: problem('The content type or encoding of the body is not supported.'),
  TooManyRequests: problem(
    'Rejected: the response would be late, or the queue is full. Nothing was computed.',
    RETRY_AFTER,
  ),
  Failed: problem('The model or the server failed.'),
  Unavailable: problem('The model is not loaded yet, or the server is shutting down.', RETRY_AFTER),
  Late: problem('The deadline passed before the response was ready.'),
} as const;

const TIMEOUT = {
  Timeout: header('batchwise-timeout-ms', 'Deadline of the request, in milliseconds from its arrival.', {
    type: 'number',
    exclusiveMinimum: 0,
  }),
} as const;

/** In the document only where the server reads them. */
const TRUSTABLE: Readonly<Record<TrustableHeader, Readonly<Record<string, Parameter>>>> = {
  priority: {
    Priority: header(
      'batchwise-priority',
      'Higher is dispatched first. The priority of a queued request rises with its wait.',
      {
        type: 'integer',
        minimum: -100,
        maximum: 100,
      },
    ),
  },
  tenant: {
    Tenant: header('batchwise-tenant', 'Tenants share a model evenly, whatever their request rates.', {
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
    RetryAfter: { description: 'Time until a retry, in seconds.', schema: { type: 'integer', minimum: 1 } },
    RetryAfterMs: {
      description: 'Time until a retry, in milliseconds.',
      schema: { type: 'integer', minimum: 0 },
    },
    BatchSize: { description: 'Rows in the batch of the request.', schema: { type: 'integer' } },
    QueueMs: { description: 'Queue wait of the request.', schema: { type: 'number' } },
    ComputeMs: { description: 'Service time of the batch.', schema: { type: 'number' } },
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
