/** What is wrong with the structure of an OpenAPI 3.1 document, as far as this project's documents use it. */

type Json = Record<string, unknown>;

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const COMPONENTS = ['schemas', 'responses', 'parameters', 'headers'];
const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];
const SCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMA_MAPS = ['properties', 'patternProperties', '$defs'];
const SCHEMA_PARTS = ['items', 'additionalProperties', 'propertyNames', 'not', 'contains'];

export function openApiMistakes(document: unknown): string[] {
  return new Inspection(document as Json).run();
}

class Inspection {
  readonly #document: Json;
  readonly #mistakes: string[] = [];
  readonly #ids = new Set<unknown>();

  constructor(document: Json) {
    this.#document = document;
  }

  run(): string[] {
    const { openapi, info, servers, tags, paths, components } = this.#document;
    this.#expect(/^3\.1\.\d+$/.test(String(openapi)), 'openapi', 'a version 3.1');
    for (const key of ['title', 'version']) this.#text((info as Json)[key], `info.${key}`);
    for (const [i, server] of (servers as Json[]).entries()) this.#text(server.url, `servers[${i}].url`);
    const names = (tags as Json[]).map(({ name }) => name);
    this.#expect(new Set(names).size === names.length, 'tags', 'each name once');
    for (const [path, item] of Object.entries(paths as Json)) this.#path(path, item as Json, names);
    this.#components(components as Json);
    return this.#mistakes;
  }

  #components(components: Json): void {
    for (const [kind, parts] of Object.entries(components)) {
      this.#expect(COMPONENTS.includes(kind), `components.${kind}`, 'a known kind of part');
      for (const [name, part] of Object.entries(parts as Json)) {
        const where = `components.${kind}.${name}`;
        this.#expect(/^[a-zA-Z0-9._-]+$/.test(name), where, 'a name of letters, digits and ._-');
        if (kind === 'schemas') this.#schema(part, where);
        else if (kind === 'responses') this.#response(part as Json, where);
        else if (kind === 'parameters') this.#parameter(part as Json, where, '');
        else this.#schema((part as Json).schema, `${where}.schema`);
      }
    }
  }

  #path(path: string, item: Json, tags: readonly unknown[]): void {
    this.#expect(/^\/[^?#\s]*$/.test(path), path, 'a path that begins with /, without a query');
    for (const [method, operation] of Object.entries(item)) {
      const where = `${method} ${path}`;
      this.#expect(METHODS.includes(method), where, 'a method');
      this.#operation(operation as Json, where, path, tags);
    }
  }

  #operation(operation: Json, where: string, path: string, tags: readonly unknown[]): void {
    this.#text(operation.summary, `${where}: summary`);
    this.#expect(!this.#ids.has(operation.operationId), `${where}: operationId`, 'one that no other has');
    this.#expect(/^\w+$/.test(String(operation.operationId)), `${where}: operationId`, 'letters, digits, _');
    this.#ids.add(operation.operationId);
    for (const tag of operation.tags as unknown[])
      this.#expect(tags.includes(tag), `${where}: tags`, 'a listed tag');
    const parameters = ((operation.parameters ?? []) as Json[]).map((given) => this.#resolved(given, where));
    for (const [i, parameter] of parameters.entries())
      this.#parameter(parameter, `${where}: parameters[${i}]`, path);
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    this.#expect(new Set(keys).size === keys.length, `${where}: parameters`, 'each once');
    for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
      this.#expect(keys.includes(`path ${name}`), `${where}: parameters`, `one for {${name}}`);
    }
    if (operation.requestBody !== undefined) {
      this.#content((operation.requestBody as Json).content, `${where}: requestBody`);
    }
    const responses = Object.entries(operation.responses as Json);
    this.#expect(responses.length > 0, `${where}: responses`, 'at least one');
    for (const [status, response] of responses) {
      this.#expect(/^[1-5]\d\d$/.test(status), `${where}: ${status}`, 'a status');
      this.#response(this.#resolved(response as Json, where), `${where}: ${status}`);
    }
  }

  #parameter(parameter: Json, where: string, path: string): void {
    this.#text(parameter.name, `${where}.name`);
    this.#expect(['path', 'query', 'header'].includes(String(parameter.in)), `${where}.in`, 'a place');
    if (parameter.in === 'path') {
      this.#expect(parameter.required === true, `${where}.required`, 'true in a path');
      this.#expect(path.includes(`{${parameter.name}}`), where, 'a part of the path');
    }
    this.#schema(parameter.schema, `${where}.schema`);
  }

  #response(response: Json, where: string): void {
    this.#text(response.description, `${where}: description`);
    for (const [name, header] of Object.entries((response.headers ?? {}) as Json)) {
      this.#schema(this.#resolved(header as Json, where).schema, `${where}: header ${name}`);
    }
    if (response.content !== undefined) this.#content(response.content, where);
  }

  #content(content: unknown, where: string): void {
    for (const [type, media] of Object.entries(content as Json)) {
      this.#expect(/^[\w.-]+\/[\w.+-]+$/.test(type), `${where}: ${type}`, 'a media type');
      const { schema } = media as Json;
      if (schema !== undefined) this.#schema(schema, `${where}: ${type}`);
    }
  }

  #schema(schema: unknown, where: string): void {
    if (typeof schema === 'boolean') return;
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      this.#mistakes.push(`${where}: expected a schema`);
      return;
    }
    const { type, $ref, required, ...rest } = schema as Json;
    if ($ref !== undefined) this.#resolved({ $ref }, where);
    if (type !== undefined) {
      this.#expect(
        [type].flat().every((name) => TYPES.includes(name as string)),
        `${where}.type`,
        'a type',
      );
    }
    if (required !== undefined) this.#expect(Array.isArray(required), `${where}.required`, 'a list');
    for (const key of SCHEMA_LISTS) {
      for (const [i, part] of ((rest[key] ?? []) as unknown[]).entries())
        this.#schema(part, `${where}.${key}[${i}]`);
    }
    for (const key of SCHEMA_MAPS) {
      for (const [name, part] of Object.entries((rest[key] ?? {}) as Json))
        this.#schema(part, `${where}.${key}.${name}`);
    }
    for (const key of SCHEMA_PARTS) if (rest[key] !== undefined) this.#schema(rest[key], `${where}.${key}`);
  }

  #resolved(given: Json, where: string): Json {
    const { $ref } = given;
    if ($ref === undefined) return given;
    let found: unknown = this.#document;
    for (const part of String($ref).replace(/^#\//, '').split('/'))
      found = (found as Json | undefined)?.[part];
    this.#expect(found !== undefined, `${where}: ${$ref}`, 'something that is there');
    return (found ?? {}) as Json;
  }

  #text(value: unknown, where: string): void {
    this.#expect(typeof value === 'string' && value !== '', where, 'a text');
  }

  #expect(isTrue: boolean, where: string, what: string): void {
    if (!isTrue) this.#mistakes.push(`${where}: expected ${what}`);
  }
}
