/** The whole interface of a running server as an OpenAPI 3.1 document. */
import type { ModelRunner } from '@batchwise/runners';
import type { TrustableHeader } from '../queue-options.js';
import type { Service } from '../service/service.js';
import { MODEL_SCHEMAS, modelOperations } from './model-operations.js';
import type { OpenApiDocument, Operation, PlacedOperation } from './open-api.js';
import { SchemaParts } from './schema-parts.js';
import { SERVER_TAG, serverOperations } from './server-operations.js';
import { serviceOperations } from './service-operations.js';
import { requestParameters, SHARED_COMPONENTS } from './shared-parts.js';
import { unusedName } from './unused-name.js';

export interface DocumentedServer {
  readonly name: string;
  readonly version: string;
  readonly service?: Service | undefined;
  /** Those that are served by the standard protocols. */
  readonly models: ReadonlyMap<string, ModelRunner>;
  /** Where the paths start; the server that the document comes from unless given. */
  readonly serverUrl?: string | undefined;
  /** The headers about the queue that the server reads. @default none */
  readonly trustedHeaders?: readonly TrustableHeader[];
}

/**
 * The document as it stands, made anew only when a model has changed: what a model takes is known once it is loaded. To make
 * it takes 1 ms or more, and one client that asked again and again took 97 % of the throughput of all others.
 */
export function currentDocument(server: DocumentedServer): () => OpenApiDocument {
  let document: OpenApiDocument | undefined;
  let madeOf: readonly unknown[] = [];
  return () => {
    const parts = [...server.models.values()].flatMap(({ signature, platform }) => [signature, platform]);
    if (document === undefined || parts.some((part, i) => part !== madeOf[i])) {
      madeOf = parts;
      document = openApiDocument(server);
    }
    return document;
  };
}

export function openApiDocument(server: DocumentedServer): OpenApiDocument {
  const { name, version, service, models, serverUrl = '/', trustedHeaders = [] } = server;
  const parameters = requestParameters(trustedHeaders);
  const headers = Object.keys(parameters).map((header) => ({ $ref: `#/components/parameters/${header}` }));
  const parts = new SchemaParts();
  const serviceTag = service?.name ?? 'Service';
  const operations = [
    ...(service === undefined ? [] : serviceOperations(service, serviceTag, parts, headers)),
    ...[...models].flatMap(([model, runner]) => modelOperations(model, runner, headers)),
    ...serverOperations(),
  ];
  const tags = [
    ...(service === undefined ? [] : [{ name: serviceTag }]),
    ...[...models].map(([model, { platform }]) => ({
      name: model,
      description: `A model, run by ${platform}.`,
    })),
    { name: SERVER_TAG, description: 'Health and metrics.' },
  ];
  return {
    openapi: '3.1.0',
    info: {
      title: service?.name ?? name,
      version,
      description: 'Concurrent requests are computed in batches; each request gets its own response.',
    },
    servers: [{ url: serverUrl }],
    tags: tags.filter((tag, i) => tags.findIndex((other) => other.name === tag.name) === i),
    paths: pathsOf(operations),
    components: {
      ...SHARED_COMPONENTS,
      parameters,
      schemas: { ...SHARED_COMPONENTS.schemas, ...MODEL_SCHEMAS, ...parts.schemas },
    },
  };
}

function pathsOf(operations: readonly PlacedOperation[]): Record<string, Record<string, Operation>> {
  const paths: Record<string, Record<string, Operation>> = {};
  const ids = new Set<string>();
  for (const { method, path, operation } of operations) {
    const methods = paths[path] ?? {};
    paths[path] = methods;
    methods[method] = { ...operation, operationId: unusedName(operation.operationId, ids) };
  }
  return paths;
}
