/** The routes of a service, with the schemas that they check by. */
import { hasBody, type Service, type ServiceRoute } from '../service/service.js';
import type {
  JsonSchema,
  MediaType,
  Operation,
  Parameter,
  PlacedOperation,
  Reference,
  Response,
} from './open-api.js';
import type { SchemaParts } from './schema-parts.js';
import { problems, TRACE_HEADERS } from './shared-parts.js';
import { unusedName } from './unused-name.js';

export function serviceOperations(
  service: Service,
  tag: string,
  parts: SchemaParts,
  headers: readonly Reference[],
): PlacedOperation[] {
  const ids = new Set<string>();
  return service.routes.map((route) => ({
    method: route.method.toLowerCase() as PlacedOperation['method'],
    path: route.path,
    operation: operationOf(route, unusedName(routeId(route), ids), tag, parts, headers),
  }));
}

function operationOf(
  route: ServiceRoute,
  id: string,
  tag: string,
  parts: SchemaParts,
  headers: readonly Reference[],
): Operation {
  const { method, path, summary, description } = route;
  const parameters = [...pathParameters(path), ...queryParameters(route, id, parts), ...headers];
  const body = requestBody(route, id, parts);
  return {
    operationId: id,
    tags: [tag],
    summary: summary ?? `${method} ${path}`,
    ...(description === undefined ? {} : { description }),
    parameters,
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...answers(route, id, parts),
      ...(hasBody(method) ? problems(400, 413, 415, 429, 500, 503, 504) : problems(400, 429, 500, 503, 504)),
    },
  };
}

/** `POST /items/{id}` is `post_items_id`: letters, digits and underscores only, so that generated clients can use it. */
function routeId({ method, path }: ServiceRoute): string {
  const words = path.split(/\W+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}

function requestBody(route: ServiceRoute, id: string, parts: SchemaParts): Operation['requestBody'] {
  if (!hasBody(route.method)) return undefined;
  if (route.input === undefined) return { required: false, content: json({}) };
  return { required: true, content: json({ ...parts.add(`${id}.input`, route.input, 'input') }) };
}

function answers(route: ServiceRoute, id: string, parts: SchemaParts): Record<string, Response> {
  const description = 'The result of the handler.';
  if (route.output === undefined) {
    return {
      200: { description, headers: TRACE_HEADERS, content: json({}) },
      204: { description: 'The handler returned nothing.' },
    };
  }
  const schema = { ...parts.add(`${id}.output`, route.output, 'output') };
  return { 200: { description, headers: TRACE_HEADERS, content: json(schema) } };
}

function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters(route: ServiceRoute, id: string, parts: SchemaParts): Parameter[] {
  if (hasBody(route.method) || route.input === undefined) return [];
  const { $ref } = parts.add(`${id}.input`, route.input, 'input');
  const schema = parts.resolved($ref);
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(typeof property.description === 'string' ? { description: property.description } : {}),
    schema: property,
  }));
}

function json(schema: JsonSchema): Record<string, MediaType> {
  return { 'application/json': { schema } };
}
