/** What the server answers for itself. */
import type { JsonSchema, Operation, PlacedOperation } from './open-api.js';
import { problems } from './shared-parts.js';

export const SERVER_TAG = 'Server';

export function serverOperations(): PlacedOperation[] {
  return [
    get('/livez', 'live', 'Liveness of the process', { 200: text('The process is alive.', 'alive') }),
    get('/readyz', 'ready', 'Readiness of the server', {
      200: text('All models are ready.', 'ready'),
      ...problems(503),
    }),
    get('/healthz', 'health', 'State of the server, with reasons', {
      200: json('The state; always 200.', {
        type: 'object',
        required: ['status', 'reasons'],
        properties: {
          status: { type: 'string', enum: ['ready', 'not_ready'] },
          reasons: { type: 'array', items: { type: 'string' } },
        },
      }),
    }),
    get('/metrics', 'metrics', 'Prometheus metrics', {
      200: text('Metrics in the Prometheus text format.', '# TYPE …'),
      ...problems(503),
    }),
    get('/v1/models', 'models', 'Names of the models', {
      200: json('All models.', {
        type: 'object',
        required: ['models'],
        properties: { models: { type: 'array', items: { type: 'string' } } },
      }),
    }),
    get('/v2', 'server_metadata', 'Server metadata (Open Inference Protocol)', {
      200: json('Name, version and supported extensions.', {
        type: 'object',
        required: ['name', 'version', 'extensions'],
        properties: {
          name: { type: 'string' },
          version: { type: 'string' },
          extensions: { type: 'array', items: { type: 'string' } },
        },
      }),
    }),
    get('/v2/health/live', 'server_live', 'Liveness (Open Inference Protocol)', {
      200: json('It is.', flag('live')),
    }),
    get('/v2/health/ready', 'server_ready', 'Readiness (Open Inference Protocol)', {
      200: json('It is.', flag('ready')),
      503: json('It is not.', flag('ready')),
    }),
  ];
}

function get(
  path: string,
  operationId: string,
  summary: string,
  responses: Operation['responses'],
): PlacedOperation {
  return { method: 'get', path, operation: { operationId, tags: [SERVER_TAG], summary, responses } };
}

function flag(name: string): JsonSchema {
  return { type: 'object', required: [name], properties: { [name]: { type: 'boolean' } } };
}

function json(description: string, schema: JsonSchema) {
  return { description, content: { 'application/json': { schema } } };
}

function text(description: string, example: string) {
  return { description, content: { 'text/plain': { schema: { type: 'string' }, example } } };
}
