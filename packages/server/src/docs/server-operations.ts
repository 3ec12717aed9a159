/** What the server answers for itself. */
import type { JsonSchema, Operation, PlacedOperation } from './open-api.js';
import { problems } from './shared-parts.js';

export const SERVER_TAG = 'Server';

export function serverOperations(): PlacedOperation[] {
  return [
    get('/livez', 'live', 'Whether the process should be left running', { 200: text('It should.', 'alive') }),
    get('/readyz', 'ready', 'Whether the server should get traffic', {
      200: text('It should: all models are warm.', 'ready'),
      ...problems(503),
    }),
    get('/healthz', 'health', 'How the server is, for people', {
      200: json('Always, as long as it answers at all.', {
        type: 'object',
        required: ['status', 'reasons'],
        properties: {
          status: { type: 'string', enum: ['ready', 'not_ready'] },
          reasons: { type: 'array', items: { type: 'string' } },
        },
      }),
    }),
    get('/metrics', 'metrics', 'Everything that is counted, for Prometheus', {
      200: text('In the text format of Prometheus.', '# TYPE …'),
      ...problems(503),
    }),
    get('/v1/models', 'models', 'The names of the models', {
      200: json('All of them.', {
        type: 'object',
        required: ['models'],
        properties: { models: { type: 'array', items: { type: 'string' } } },
      }),
    }),
    get('/v2', 'server_metadata', 'What this server is, by the Open Inference Protocol', {
      200: json('Its name, its version and the extensions that it knows.', {
        type: 'object',
        required: ['name', 'version', 'extensions'],
        properties: {
          name: { type: 'string' },
          version: { type: 'string' },
          extensions: { type: 'array', items: { type: 'string' } },
        },
      }),
    }),
    get('/v2/health/live', 'server_live', 'Live, by the Open Inference Protocol', {
      200: json('It is.', flag('live')),
    }),
    get('/v2/health/ready', 'server_ready', 'Ready, by the Open Inference Protocol', {
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
