/** `batchwise arena --html`: the page contains the targets and the showcase, which takes half a minute to simulate. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { batchwise } from '../support/command.js';

test('writes a page with the targets and the policies side by side', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-arena-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { stdout } = await batchwise(
    ['arena', '--quick', '--target', '9', '--json', '--html', 'arena.html'],
    folder,
  );
  expect(JSON.parse(stdout).targets).toEqual([expect.objectContaining({ number: 9, name: 'admission' })]);
  const page = readFileSync(join(folder, 'arena.html'), 'utf8');
  expect(page).toContain('<h2>Targets</h2>');
  expect(page).toContain('<h2>Policies compared</h2>');
});
