/** The endpoints of one model, with what it takes and gives as its signature says. */
import type { ModelRunner, Signature, TensorSpec } from '@batchwise/runners';
import type { JsonSchema, MediaType, Operation, PlacedOperation, Reference, Response } from './open-api.js';
import { problems, TRACE_HEADERS } from './shared-parts.js';
import {
  columnSchema,
  flatSchema,
  rowExampleOf,
  rowValueSchema,
  shapeSchema,
  tensorExample,
} from './tensor-schema.js';

/** Nothing is known of a model before it is loaded. */
const UNKNOWN: Signature = { inputs: [], outputs: [] };

export function modelOperations(
  name: string,
  { signature }: ModelRunner,
  headers: readonly Reference[],
): PlacedOperation[] {
  const id = name.replace(/\W/g, '_');
  const path = encodeURIComponent(name);
  const tags = [name];
  const known = signature ?? UNKNOWN;
  return [
    {
      method: 'post',
      path: `/v1/models/${path}:predict`,
      operation: work(
        `predict_${id}`,
        tags,
        `Predict with ${name}: rows`,
        predictRequest(known),
        predictResponse(known),
        headers,
        exampleNote(known),
      ),
    },
    {
      method: 'post',
      path: `/v2/models/${path}/infer`,
      operation: work(
        `infer_${id}`,
        tags,
        `Predict with ${name}: tensors`,
        inferRequest(known),
        inferResponse(name, known),
        headers,
        exampleNote(known),
      ),
    },
    { method: 'get', path: `/v2/models/${path}`, operation: metadata(`metadata_${id}`, tags, name) },
    { method: 'get', path: `/v2/models/${path}/ready`, operation: ready(`ready_${id}`, tags, name) },
  ];
}

function work(
  operationId: string,
  tags: readonly string[],
  summary: string,
  body: Readonly<Record<string, MediaType>>,
  answer: Readonly<Record<string, MediaType>>,
  headers: readonly Reference[],
  note: string | undefined,
): Operation {
  const ok: Response = {
    description: 'The predictions of the model.',
    headers: TRACE_HEADERS,
    content: answer,
  };
  return {
    operationId,
    tags,
    summary,
    parameters: headers,
    requestBody: { ...(note === undefined ? {} : { description: note }), required: true, content: body },
    responses: { 200: ok, ...problems(400, 404, 413, 415, 429, 500, 503, 504) },
  };
}

/** An example from the signature may be invalid where the signature is open and the model declares no example. */
function exampleNote({ inputs }: Signature): string | undefined {
  const isGuessed = ({ example, content, anyDatatype, anyShape, shape }: TensorSpec) =>
    example === undefined && (content === 'json' || anyDatatype || anyShape || shape.slice(1).includes(-1));
  if (!inputs.some(isGuessed)) return undefined;
  return 'The example is generated, and the model may reject it: the signature of the model is open. Replace it with an input of the model.';
}

function predictRequest({ inputs }: Signature): Record<string, MediaType> {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      instances: {
        type: 'array',
        minItems: 1,
        items: rowSchema(inputs, false),
        description: 'One entry per row.',
      },
      inputs: { ...columnsSchema(inputs, false), description: 'One entry per input, each with all rows.' },
    },
    oneOf: [{ required: ['instances'] }, { required: ['inputs'] }],
  };
  const row = rowExample(inputs);
  return json(schema, row === undefined ? undefined : { instances: [row] });
}

function predictResponse({ outputs }: Signature): Record<string, MediaType> {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      predictions: {
        type: 'array',
        items: rowSchema(outputs, true),
        description: 'One entry per row, for a request with `instances`.',
      },
      outputs: {
        ...columnsSchema(outputs, true),
        description: 'One entry per output, for a request with `inputs`.',
      },
    },
  };
  const row = rowExample(outputs);
  return json(schema, row === undefined ? undefined : { predictions: [row] });
}

/** A row is the rest of the shape behind the first dimension; with several tensors, each by its name. */
function rowSchema(specs: readonly TensorSpec[], isAnswer: boolean): JsonSchema {
  return one(specs, (spec) => rowValueSchema(spec, isAnswer));
}

function columnsSchema(specs: readonly TensorSpec[], isAnswer: boolean): JsonSchema {
  const rows = isAnswer ? {} : { minItems: 1 };
  return one(specs, (spec) => ({ ...rows, ...columnSchema(spec, isAnswer) }));
}

function one(specs: readonly TensorSpec[], schemaOf: (spec: TensorSpec) => JsonSchema): JsonSchema {
  const [only] = specs;
  if (only === undefined) return {};
  if (specs.length === 1) return schemaOf(only);
  return {
    type: 'object',
    required: specs.map(({ name }) => name),
    properties: Object.fromEntries(specs.map((spec) => [spec.name, schemaOf(spec)])),
  };
}

function rowExample(specs: readonly TensorSpec[]): unknown {
  const rows = specs.map((spec) => [spec.name, rowExampleOf(spec)] as const);
  if (rows.length === 0 || rows.some(([, row]) => row === undefined)) return undefined;
  return rows.length === 1 ? rows[0]?.[1] : Object.fromEntries(rows);
}

function inferRequest({ inputs, outputs }: Signature): Record<string, MediaType> {
  const tensors = tensorsSchema(inputs, false);
  const schema: JsonSchema = {
    type: 'object',
    required: ['inputs'],
    properties: {
      id: { type: 'string', description: 'Returned in the response.' },
      inputs:
        inputs.length === 0 ? tensors : { ...tensors, minItems: inputs.length, maxItems: inputs.length },
      outputs: {
        type: 'array',
        description: 'The requested outputs. Default: all.',
        items: {
          type: 'object',
          required: ['name'],
          properties: {
            name:
              outputs.length === 0
                ? { type: 'string' }
                : { type: 'string', enum: outputs.map(({ name }) => name) },
          },
        },
      },
    },
  };
  const examples = inputs.map(tensorExample);
  const isComplete = inputs.length > 0 && !examples.includes(undefined);
  return {
    ...json(schema, isComplete ? { inputs: examples } : undefined),
    // The binary tensor extension: JSON of `inference-header-content-length` bytes, and the data behind it.
    'application/octet-stream': {},
  };
}

function inferResponse(model: string, { outputs }: Signature): Record<string, MediaType> {
  const schema: JsonSchema = {
    type: 'object',
    required: ['model_name', 'outputs'],
    properties: {
      model_name: { type: 'string', const: model },
      model_version: { type: 'string' },
      id: { type: 'string' },
      outputs: tensorsSchema(outputs, true),
    },
  };
  const examples = outputs.map(tensorExample);
  const isComplete = outputs.length > 0 && !examples.includes(undefined);
  return {
    ...json(schema, isComplete ? { model_name: model, model_version: '1', outputs: examples } : undefined),
    'application/octet-stream': {},
  };
}

function tensorsSchema(specs: readonly TensorSpec[], isAnswer: boolean): JsonSchema {
  const items = specs.map((spec) => ({
    type: 'object',
    required: ['name', 'datatype', 'shape', 'data'],
    properties: {
      name: { type: 'string', const: spec.name },
      datatype: spec.anyDatatype ? { type: 'string' } : { type: 'string', const: spec.datatype },
      shape: shapeSchema(spec, isAnswer),
      data: flatSchema(spec, isAnswer),
    },
  }));
  return { type: 'array', items: items.length > 1 ? { anyOf: items } : (items[0] ?? { type: 'object' }) };
}

/** Without an example of ours a page would make one up from the schema, however large. */
function json(schema: JsonSchema, example: unknown): Record<string, MediaType> {
  return { 'application/json': { schema, example: example ?? {} } };
}

function metadata(operationId: string, tags: readonly string[], name: string): Operation {
  return {
    operationId,
    tags,
    summary: `Inputs and outputs of ${name}`,
    responses: {
      200: {
        description: 'Names, datatypes and shapes; -1 for a dimension of any length.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ModelMetadata' } } },
      },
      ...problems(404, 503),
    },
  };
}

function ready(operationId: string, tags: readonly string[], name: string): Operation {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/ModelReady' } } };
  return {
    operationId,
    tags,
    summary: `Readiness of ${name}`,
    responses: {
      200: { description: 'The model is ready.', content },
      ...problems(404),
      503: { description: 'The model is not ready.', content },
    },
  };
}

const TENSOR_METADATA = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'datatype', 'shape'],
    properties: {
      name: { type: 'string' },
      datatype: { type: 'string', examples: ['FP32'] },
      shape: { type: 'array', items: { type: 'integer', minimum: -1 } },
      parameters: {
        type: 'object',
        description: 'Whether each request or result has its own datatype, and its own number of dimensions.',
        properties: { any_datatype: { type: 'boolean' }, any_shape: { type: 'boolean' } },
      },
    },
  },
} as const;

export const MODEL_SCHEMAS = {
  ModelMetadata: {
    type: 'object',
    required: ['name', 'platform', 'inputs', 'outputs'],
    properties: {
      name: { type: 'string' },
      versions: { type: 'array', items: { type: 'string' } },
      platform: { type: 'string' },
      inputs: TENSOR_METADATA,
      outputs: TENSOR_METADATA,
    },
  },
  ModelReady: {
    type: 'object',
    required: ['name', 'ready'],
    properties: { name: { type: 'string' }, ready: { type: 'boolean' } },
  },
} as const;
