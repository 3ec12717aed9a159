import { type EmbeddingsOptions, embeddingsBatcher } from '@batchwise/embeddings';
import { greedy } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, localServer, type Received } from '../../fetch/test/local-server.js';

interface Asked {
  readonly model: string;
  readonly input: readonly string[];
  readonly encoding_format?: string;
  readonly dimensions?: number;
}

const asked = ({ body }: Received): Asked => JSON.parse(body);

/** The embedding of the test server: different for different texts, and exact in 32 bits. */
function vectorOf(text: string): number[] {
  return [text.length, text.charCodeAt(0), text.charCodeAt(text.length - 1) + 0.5];
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(4 * vector.length);
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, 4 * i);
  return bytes.toString('base64');
}

function answered(request: Received): Answer {
  const { input, encoding_format } = asked(request);
  const data = input.map((text, index) => {
    const vector = vectorOf(text);
    return {
      object: 'embedding',
      index,
      embedding: encoding_format === 'base64' ? base64Of(vector) : vector,
    };
  });
  return { body: { object: 'list', data, model: 'test', usage: { total_tokens: 1 } } };
}

async function startEmbeddings(
  options: Partial<EmbeddingsOptions> = {},
  answer: (request: Received) => Answer | Promise<Answer> = answered,
) {
  const server = await localServer(answer);
  const embeddings = embeddingsBatcher({
    url: `${server.url}/v1/embeddings`,
    model: 'test',
    policy: greedy(),
    ...options,
  });
  onTestFinished(() => embeddings.destroy());
  const inputs = () => server.requests.map((request) => asked(request).input);
  return { server, embeddings, inputs };
}

/** An injected fetch with the same answers, for tests of many requests. */
function recordedFetch() {
  const inputs: (readonly string[])[] = [];
  const fetch = async (_: string, { body }: RequestInit) => {
    inputs.push(JSON.parse(String(body)).input);
    return Response.json(answered({ body: String(body) } as Received).body);
  };
  return { fetch, inputs };
}

async function outcomesOf<R>(calls: readonly Promise<R>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
}

describe('texts of one turn', () => {
  test('are one request, and each caller gets its embedding', async () => {
    const { server, embeddings } = await startEmbeddings({
      apiKey: 'key',
      headers: { 'x-team': 'search' },
    });
    const texts = ['a cat', 'a dog', 'and ünïcödé 🦁\n'];
    expect(await embeddings.submitMany(texts)).toEqual(texts.map((text) => new Float32Array(vectorOf(text))));
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        url: '/v1/embeddings',
        headers: { 'content-type': 'application/json', authorization: 'Bearer key', 'x-team': 'search' },
        body: JSON.stringify({ model: 'test', input: texts }),
      },
    ]);
  });

  test('are embedded once, however many callers ask, also while the request runs', async () => {
    const late: Promise<Float32Array>[] = [];
    const { embeddings, inputs } = await startEmbeddings({}, (request) => {
      if (late.length === 0) late.push(embeddings.submit('a'));
      return answered(request);
    });
    const [first, second, other] = await embeddings.submitMany(['a', 'a', 'b']);
    expect(second).toBe(first);
    expect(await late[0]).toBe(first);
    expect(other).toEqual(new Float32Array(vectorOf('b')));
    expect(inputs()).toEqual([['a', 'b']]);
  });

  test('are matched by index, in whatever order the answer is', async () => {
    const { embeddings } = await startEmbeddings({}, (request) => {
      const { data } = answered(request).body as { data: unknown[] };
      return { body: { data: data.reverse() } };
    });
    const texts = ['one', 'two!', 'three'];
    expect(await embeddings.submitMany(texts)).toEqual(texts.map((text) => new Float32Array(vectorOf(text))));
  });

  test('are matched by position where the answer has no index', async () => {
    const { embeddings } = await startEmbeddings({}, () => ({
      body: { data: [{ embedding: [1] }, { embedding: [2] }] },
    }));
    expect(await embeddings.submitMany(['a', 'b'])).toEqual([new Float32Array([1]), new Float32Array([2])]);
  });
});

describe('encoding', () => {
  test('base64 and dimensions are asked for, and decoded', async () => {
    const { server, embeddings } = await startEmbeddings({ encodingFormat: 'base64', dimensions: 3 });
    expect(await embeddings.submit('text')).toEqual(new Float32Array(vectorOf('text')));
    expect(server.requests.map(asked)).toEqual([
      { model: 'test', input: ['text'], dimensions: 3, encoding_format: 'base64' },
    ]);
  });

  test('any float survives base64', async () => {
    await fc.assert(
      fc.asyncProperty(fc.float32Array({ minLength: 1, maxLength: 20 }), async (vector) => {
        const fetch = async () => Response.json({ data: [{ index: 0, embedding: base64Of([...vector]) }] });
        const embeddings = embeddingsBatcher({ url: 'http://localhost', model: 'test', fetch });
        expect(await embeddings.submit('text')).toEqual(vector);
      }),
      { numRuns: 100 },
    );
  });

  test('what comes is understood, whatever was asked for', async () => {
    const { embeddings } = await startEmbeddings({ encodingFormat: 'base64' }, () => ({
      body: { data: [{ index: 0, embedding: [1, 2] }] },
    }));
    expect(await embeddings.submit('text')).toEqual(new Float32Array([1, 2]));
  });
});

describe('limits', () => {
  test('a request keeps to maxTokens and to maxTexts, and nothing is lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 80 }), { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 1, max: 30 }),
        async (texts, maxTokens, maxTexts) => {
          const { fetch, inputs } = recordedFetch();
          const embeddings = embeddingsBatcher({
            url: 'http://localhost',
            model: 'test',
            maxTokens,
            maxTexts,
            fetch,
          });
          await embeddings.submitMany(texts);
          expect(inputs.flat()).toEqual(texts);
          for (const input of inputs) {
            expect(input.length).toBeLessThanOrEqual(maxTexts);
            const tokens = input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
            expect(tokens).toBeLessThanOrEqual(maxTokens);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([1, 3, 19, 22, 96, 2048])('maxTexts of %i is used to the full', async (maxTexts) => {
    const { fetch, inputs } = recordedFetch();
    const embeddings = embeddingsBatcher({
      url: 'http://localhost',
      model: 'test',
      maxTexts,
      policy: greedy(),
      fetch,
    });
    await embeddings.submitMany(Array.from({ length: 2 * maxTexts }, (_, i) => `text ${i}`));
    expect(inputs.map((input) => input.length)).toEqual([maxTexts, maxTexts]);
  });

  test('tokens are counted by countTokens', async () => {
    const { embeddings, inputs } = await startEmbeddings({
      maxTokens: 10,
      countTokens: (text) => Number(text),
    });
    await embeddings.submitMany(['6', '4', '1', '9.5']);
    expect(inputs()).toEqual([['6', '4'], ['1'], ['9.5']]);
  });

  test('characters other than ASCII are estimated as a token each', async () => {
    const { embeddings, inputs } = await startEmbeddings({ maxTokens: 10 });
    await embeddings.submitMany(['日本語日本', '語日本語日', '本語日本語']);
    expect(inputs().map((input) => input.length)).toEqual([2, 1]);
  });

  test.each<[unknown, string]>([
    ['x'.repeat(4 * 8192 + 1), 'the text has an estimated 8193 tokens, more than maxTokensPerText (8192).'],
    ['', 'expected a text that is not empty, got an empty one.'],
    [42, 'expected a text that is not empty, got number.'],
    [undefined, 'expected a text that is not empty, got undefined.'],
  ])('a text that cannot be embedded is rejected alone (%#)', async (text, message) => {
    const { embeddings, inputs } = await startEmbeddings();
    const [wrong, right] = await outcomesOf([embeddings.submit(text as string), embeddings.submit('right')]);
    expect(wrong).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringContaining(message) });
    expect(right).toEqual(new Float32Array(vectorOf('right')));
    expect(inputs()).toEqual([['right']]);
  });
});

describe('a request that fails', () => {
  test.each<[string, Answer, object]>([
    [
      '429 with milliseconds',
      { status: 429, headers: { 'retry-after': '2', 'retry-after-ms': '1500' } },
      { code: 'OVERLOADED', retryAfterMs: 1500, retryable: true },
    ],
    [
      '429 with seconds',
      { status: 429, headers: { 'retry-after': '2' } },
      { code: 'OVERLOADED', retryAfterMs: 2000 },
    ],
    ['503', { status: 503, headers: { 'retry-after': '1' } }, { code: 'UNAVAILABLE', retryAfterMs: 1000 }],
    ['500 without more', { status: 500 }, { code: 'UNAVAILABLE' }],
    [
      '401',
      { status: 401, body: 'wrong key' },
      { code: 'HANDLER_FAILED', cause: { status: 401, body: 'wrong key' } },
    ],
    ['404', { status: 404, body: 'no such model' }, { code: 'HANDLER_FAILED' }],
    [
      'a page',
      { body: '<html>' },
      { code: 'BAD_RESULT', message: 'embeddings: the answer of the service is not JSON: <html>' },
    ],
    [
      'no data',
      { body: { error: 'x' } },
      { code: 'BAD_RESULT', message: 'embeddings: the answer of the service has no array "data".' },
    ],
    ['null', { body: 'null' }, { code: 'BAD_RESULT' }],
    [
      'an index too many',
      { body: { data: [{ index: 5, embedding: [1] }] } },
      { code: 'BAD_RESULT', message: expect.stringContaining('an embedding with the index 5 for 2 texts') },
    ],
    [
      'an index twice',
      {
        body: {
          data: [
            { index: 0, embedding: [1] },
            { index: 0, embedding: [1] },
          ],
        },
      },
      { code: 'BAD_RESULT', message: expect.stringContaining('two embeddings with the index 0') },
    ],
  ])('by %s rejects all its callers, and is not repeated', async (_, answer, expected) => {
    const { server, embeddings } = await startEmbeddings({}, () => answer);
    expect(await outcomesOf([embeddings.submit('a'), embeddings.submit('b')])).toMatchObject([
      expected,
      expected,
    ]);
    expect(server.requests).toHaveLength(1);
  });

  test('because no server is there, is UNAVAILABLE', async () => {
    const { server, embeddings } = await startEmbeddings();
    await server.stop();
    await expect(embeddings.submit('a')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: expect.any(TypeError),
    });
  });

  test('is aborted when no caller waits for it any more', async () => {
    const controller = new AbortController();
    const { server, embeddings } = await startEmbeddings({}, () => {
      controller.abort();
      return new Promise(() => {});
    });
    const call = embeddings.submit('a', { signal: controller.signal });
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    await server.requests[0]?.abandoned;
  });

  test.each<[string, unknown, string]>([
    ['is missing', undefined, 'has no embedding with the index 1'],
    ['is no vector', { index: 1, embedding: { x: 1 } }, 'has no array of numbers and no base64 text'],
    ['is empty', { index: 1, embedding: [] }, 'has no array of numbers and no base64 text'],
    ['has no numbers', { index: 1, embedding: [1, null, 2] }, 'has no array of numbers and no base64 text'],
    ['is no base64', { index: 1, embedding: '!' }, 'has no array of numbers and no base64 text'],
    ['is cut off', { index: 1, embedding: 'AAAAAAA=' }, 'has no array of numbers and no base64 text'],
    ['is too short', { index: 1, embedding: [1] }, 'has an embedding of 1 dimensions, expected 2'],
  ])('in part, because an embedding %s, rejects only its text', async (_, row, message) => {
    const good = { index: 0, embedding: [1, 2] };
    const { embeddings } = await startEmbeddings({ dimensions: 2 }, () => ({
      body: { data: row === undefined ? [good] : [row, good] },
    }));
    const outcomes = await outcomesOf([embeddings.submit('a'), embeddings.submit('b')]);
    expect(outcomes[0]).toEqual(new Float32Array([1, 2]));
    expect(outcomes[1]).toMatchObject({ code: 'BAD_RESULT', message: expect.stringContaining(message) });
  });
});

describe('a text that the endpoint rejects', () => {
  const picky = (status: number) => (request: Received) =>
    asked(request).input.includes('bad') ? { status, body: 'bad text' } : answered(request);

  test.each([400, 413, 422])('with %i fails alone', async (status) => {
    const { server, embeddings, inputs } = await startEmbeddings({}, picky(status));
    await embeddings.submit('first');
    const texts = Array.from({ length: 32 }, (_, i) => (i === 20 ? 'bad' : `text ${i}`));
    const outcomes = await outcomesOf(texts.map((text) => embeddings.submit(text)));
    expect(outcomes[20]).toMatchObject({
      code: 'INVALID_ITEM',
      message: `embeddings: the service answered with status ${status}: bad text`,
      cause: { status, body: 'bad text' },
    });
    const others = texts.filter((text) => text !== 'bad');
    expect(outcomes.filter((_, i) => i !== 20)).toEqual(
      others.map((text) => new Float32Array(vectorOf(text))),
    );
    expect(
      inputs()
        .flat()
        .filter((text) => text === 'text 0'),
    ).toHaveLength(2);
    // 1, the batch of 32, and two requests at each of 5 levels.
    expect(server.requests).toHaveLength(12);
  });

  test('in the first batch of all fails alone, too', async () => {
    const { embeddings, inputs } = await startEmbeddings({}, picky(400));
    const [bad, good] = await outcomesOf([embeddings.submit('bad'), embeddings.submit('good')]);
    expect(bad).toMatchObject({ code: 'INVALID_ITEM' });
    expect(good).toEqual(new Float32Array(vectorOf('good')));
    expect(inputs()).toEqual([['bad', 'good'], ['a'], ['bad'], ['good']]);
  });

  // Root cause: with a wrong model, a batch of 2048 texts would be 4095 requests.
  test('is not looked for where the endpoint rejects every text', async () => {
    const { server, embeddings } = await startEmbeddings({}, () => ({
      status: 400,
      body: 'no such dimensions',
    }));
    const outcomes = await outcomesOf(['a', 'b', 'c', 'd'].map((text) => embeddings.submit(text)));
    expect(outcomes).toMatchObject(
      new Array(4).fill({ code: 'HANDLER_FAILED', message: expect.stringContaining('no such dimensions') }),
    );
    expect(server.requests).toHaveLength(2);
  });

  test('is not looked for where the endpoint is overloaded meanwhile', async () => {
    const { server, embeddings } = await startEmbeddings({}, (request) =>
      asked(request).input.length > 1 ? { status: 400 } : { status: 429 },
    );
    const outcomes = await outcomesOf([embeddings.submit('x'), embeddings.submit('y')]);
    expect(outcomes).toMatchObject([{ code: 'OVERLOADED' }, { code: 'OVERLOADED' }]);
    expect(server.requests).toHaveLength(2);
  });
});

test('close waits for the embeddings that were asked for', async () => {
  const { embeddings } = await startEmbeddings();
  const call = embeddings.submit('text');
  await embeddings.close();
  expect(await call).toEqual(new Float32Array(vectorOf('text')));
});

test.each<[object, string]>([
  [{ url: 'v1/embeddings' }, 'url: expected an http URL, got v1/embeddings.'],
  [{ url: 'localhost:8080' }, 'url: expected an http URL, got localhost:8080.'],
  [{ model: '' }, 'model: expected the name of a model, got .'],
  [{ encodingFormat: 'int8' }, "encodingFormat: expected 'float' or 'base64', got int8."],
  [{ countTokens: 4 }, 'countTokens: expected a function, got 4.'],
  [{ maxTexts: 2049 }, 'maxTexts: expected a whole number from 1 to 2048, got 2049.'],
  [{ maxTokens: 0 }, 'maxTokens: expected a whole number from 1 up, got 0.'],
  [{ dimensions: 1.5 }, 'dimensions: expected a whole number from 1 up, got 1.5.'],
  [{ maxBatchSize: 64 }, 'maxBatchSize is not an option of embeddingsBatcher'],
  [{ apikey: 'key' }, 'unknown option "apikey"'],
])('options %o are rejected', (options, message) => {
  const make = () => embeddingsBatcher({ url: 'http://localhost', model: 'test', ...options });
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  expect(make).toThrow(message);
});
