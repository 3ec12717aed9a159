/** A file of settings changes in many ways; each is noticed once, and nothing else is. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { watchFile } from '../../src/serve/config-watch.js';
import { until } from './support/until.js';

let folder: string;
let changes = 0;
let stop = () => {};

const watching = (file: string) => {
  changes = 0;
  stop = watchFile(
    file,
    () => {
      changes += 1;
    },
    (line) => {
      throw new Error(line);
    },
  );
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-watch-'));
});

afterEach(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});

test('a link to a folder that is put in the place of another, as Kubernetes mounts a ConfigMap', async () => {
  const version = (name: string, text: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'batchwise.yaml'), text);
  };
  version('..2026_1', 'runners: {}\n');
  symlinkSync('..2026_1', join(folder, '..data'));
  symlinkSync(join('..data', 'batchwise.yaml'), join(folder, 'batchwise.yaml'));
  watching(join(folder, 'batchwise.yaml'));

  version('..2026_2', 'runners: { digits: {} }\n');
  symlinkSync('..2026_2', join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  rmSync(join(folder, '..2026_1'), { recursive: true });
  await until(() => changes === 1, 'the change is noticed');
});

test('a new file in the place of the old one, and one that is gone for a while', async () => {
  const file = join(folder, 'batchwise.yaml');
  writeFileSync(file, 'a: 1\n');
  watching(file);
  writeFileSync(join(folder, 'new.tmp'), 'a: 2\n');
  renameSync(join(folder, 'new.tmp'), file);
  await until(() => changes === 1, 'the new file is noticed');

  rmSync(file);
  writeFileSync(join(folder, 'other'), '');
  writeFileSync(file, 'a: 3\n');
  await until(() => changes === 2, 'the file that is back is noticed');
});

test('the same text written again, and other files of the folder, are no change', async () => {
  const file = join(folder, 'batchwise.yaml');
  writeFileSync(file, 'a: 1\n');
  watching(file);
  writeFileSync(file, 'a: 1\n');
  writeFileSync(join(folder, 'other'), 'b: 1\n');
  // What those would have caused comes before what this causes.
  writeFileSync(file, 'a: 2\n');
  await until(() => changes > 0, 'a real change is noticed');
  expect(changes).toBe(1);
});

test('a change in a folder where something always happens', async () => {
  const file = join(folder, 'batchwise.yaml');
  writeFileSync(file, 'a: 1\n');
  watching(file);
  writeFileSync(file, 'a: 2\n');
  await until(() => {
    writeFileSync(join(folder, 'log'), String(performance.now()));
    return changes > 0;
  }, 'the change is noticed');
  expect(changes).toBe(1);
});
