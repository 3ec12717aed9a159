/** The files of a new service. */

export const SERVICE = `/** A service with one runner and one route: npx batchwise serve */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';

export const service = defineService({
  name: 'Word counter',
  runners: {
    // Called once per batch: one result per text, in the same order. Replace it with a model:
    //   words: onnx<number[], number[]>('model.onnx', { batchable: true })
    //   words: python<string, number>('model.py')
    words: fn((texts: string[]) => texts.map(countWords), { batchable: true }),
  },
  routes: (route) => [
    route.post('/count', {
      summary: 'Count the words of a text',
      input: z.object({ text: z.string() }),
      output: z.object({ words: z.int() }),
      // Called once per request. Concurrent requests share a batch.
      handler: async ({ text }, { runners }) => ({ words: await runners.words.predict(text) }),
    }),
  ],
});

function countWords(text: string): number {
  return text.split(/\\s+/).filter((word) => word !== '').length;
}
`;

export const CONFIG = `# Settings of batchwise serve. \`npx batchwise config\` prints all settings with their origins.
service: service.ts
server:
  port: 3000
runners:
  words:
    batching:
      max_batch_size: 64
`;

export const TEST = `/** Starts the service on a free port and sends requests to it: node --test */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadConfig, serve } from '@batchwise/server';

const flags = { port: 0 };
const server = await serve({ load: (runnerNames) => loadConfig({ flags, runnerNames }) });
after(() => server.stop());

/** @param {unknown} body */
const count = (body) =>
  fetch(\`\${server.address.url}/count\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('counts the words of a text', async () => {
  const response = await count({ text: 'three short words' });
  assert.deepEqual(await response.json(), { words: 3 });
});

test('answers each concurrent request with its own result', async () => {
  const responses = await Promise.all(['one', 'one two', ''].map((text) => count({ text })));
  assert.deepEqual(
    await Promise.all(responses.map((response) => response.json())),
    [{ words: 1 }, { words: 2 }, { words: 0 }],
  );
});

test('rejects invalid input', async () => {
  const response = await count({ text: 3 });
  assert.equal(response.status, 400);
});
`;

export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "skipLibCheck": true,
    "noEmit": true
  }
}
`;

export function packageJson(name: string, version: string): string {
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts: { start: 'batchwise serve', dev: 'batchwise serve --watch', test: 'node --test' },
    dependencies: {
      '@batchwise/cli': `^${version}`,
      '@batchwise/server': `^${version}`,
      batchwise: `^${version}`,
      zod: '^4.0.0',
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
