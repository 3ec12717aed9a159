import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadScript } from '../../src/connection/script.js';
import { linkForThisTest } from '../connection/link-for-this-test.js';
import { forThisTest } from '../support/for-this-test.js';
import { startRedis } from '../support/redis-server.js';

test('Redis can read each script of the package, and calls it by the same digest', async () => {
  const redis = await forThisTest(startRedis());
  const link = linkForThisTest({ url: redis.url });
  const files = readdirSync(new URL('../../lua/', import.meta.url));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    const script = loadScript(file.replace(/\.lua$/, ''));
    expect(await link.send('k', ['SCRIPT', 'LOAD', script.source]), file).toBe(script.sha1);
  }
});

test('a script is read once in a process', () => {
  expect(loadScript('submit')).toBe(loadScript('submit'));
});
