/** Real models in one process: what the operator is told of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { serve } from '../../src/serve.js';

/** Models that give their input back, of the shape [1, 4] and of any number of rows. */
const MODELS = {
  fixed:
    'CAhCAhANOk4KFAoBeBIFeF9vdXQiCElkZW50aXR5EghpZGVudGl0eVoTCgF4Eg4KDAgBEggKAggBCgIIBGIXCgV4X291dBIOCgwIARIICgIIAQoCCAQ=',
  open: 'CAhCAhANOlIKFAoBeBIFeF9vdXQiCElkZW50aXR5EghpZGVudGl0eVoVCgF4EhAKDggBEgoKBBICZDAKAggEYhkKBXhfb3V0EhAKDggBEgoKBBICZDAKAggE',
};

test('a model that takes one row at a time is told in the log, one that takes many is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, bytes] of Object.entries(MODELS)) {
    writeFileSync(join(folder, `${name}.onnx`), Buffer.from(bytes, 'base64'));
  }
  const logged: string[] = [];
  const flags = { port: 0, models: Object.keys(MODELS).map((name) => join(folder, `${name}.onnx`)) };
  const server = await serve({
    load: (runnerNames) => loadConfig({ cwd: folder, flags, runnerNames }),
    log: (line) => logged.push(line),
  });
  await server.stop();
  expect(logged).toEqual([
    'fixed: requests are not batched: dimension 0 of input "x" of shape [1,4] is fixed at 1.',
  ]);
});
