/** As much of Elasticsearch as bulk requests need: documents in memory, checked like there. */
import { type Answer, type LocalServer, localServer, type Received } from '../../fetch/test/local-server.js';

type Doc = Record<string, unknown>;
type Outcome = { status: number } & Record<string, unknown>;

export interface BulkServer extends LocalServer {
  /** By index and id: `books/1`. */
  readonly documents: Map<string, Doc>;
  /** The actions in the order in which they were executed. */
  readonly executed: string[];
}

/** `instead` may answer a request in place of the service, before anything is executed. */
export async function bulkServer(
  instead: (request: Received) => Answer | undefined | Promise<Answer | undefined> = () => undefined,
): Promise<BulkServer> {
  const documents = new Map<string, Doc>();
  const executed: string[] = [];
  const server = await localServer(async (request) => {
    const answer = await instead(request);
    return answer ?? bulk(request, documents, executed);
  });
  return { ...server, documents, executed };
}

function bulk({ method, url, body }: Received, documents: Map<string, Doc>, executed: string[]): Answer {
  const [, defaultIndex] = /^(?:\/(\w+))?\/_bulk$/.exec(url) ?? [undefined, 'not a bulk request'];
  if (method !== 'POST' || defaultIndex === 'not a bulk request') return { status: 405 };
  if (!body.endsWith('\n')) return badRequest('The bulk request must be terminated by a newline [\\n]');
  const lines: Doc[] = body
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line));
  const operations: [string, Doc, Doc][] = [];
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const [[action, target]] = Object.entries(line) as [[string, Doc]];
    if (target.unknown !== undefined) return badRequest('Action/metadata line contains an unknown parameter');
    if (String(target._id ?? '').length > 512) return badRequest('Validation Failed: 1: id is too long');
    operations.push([
      action,
      { _index: defaultIndex, ...target },
      action === 'delete' ? {} : (lines.shift() ?? {}),
    ]);
  }
  const items = operations.map(([action, target, source]): Record<string, Outcome> => {
    executed.push(`${action} ${target._id}`);
    const outcome: Outcome = execute(action, target, source, documents);
    return { [action]: { _index: target._index, _id: target._id ?? 'made up', ...outcome } };
  });
  const errors = items.some((item) => Object.values(item)[0]?.error !== undefined);
  return { body: { took: 1, errors, items } };
}

function execute(action: string, target: Doc, source: Doc, documents: Map<string, Doc>): Outcome {
  const key = `${target._index}/${target._id}`;
  const existing = documents.get(key);
  const doc = action === 'update' ? { ...existing, ...(source.doc as Doc) } : source;
  if (doc.queue === 'full') return rejected(429, 'es_rejected_execution_exception', 'rejected execution');
  if (doc.shard === 'gone')
    return rejected(503, 'unavailable_shards_exception', 'primary shard is not active');
  if (typeof doc.year === 'string')
    return rejected(400, 'document_parsing_exception', 'failed to parse [year]');
  if (action === 'delete') {
    documents.delete(key);
    return existing === undefined ? { status: 404, result: 'not_found' } : { status: 200, result: 'deleted' };
  }
  if (action === 'create' && existing !== undefined)
    return rejected(409, 'version_conflict_engine_exception', 'document already exists');
  if (action === 'update' && existing === undefined && source.doc_as_upsert !== true)
    return rejected(404, 'document_missing_exception', 'document missing');
  documents.set(key, doc);
  return existing === undefined ? { status: 201, result: 'created' } : { status: 200, result: 'updated' };
}

function rejected(status: number, type: string, reason: string): Outcome {
  return { status, error: { type, reason } };
}

function badRequest(reason: string): Answer {
  return { status: 400, body: { error: { type: 'illegal_argument_exception', reason }, status: 400 } };
}
