/** A system test, because worker threads run the built files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Cell } from '../../src/grid/grid-cell.js';
import type * as Built from '../../src/tournament/tournament.js';

const built = new URL('../../dist/tournament/tournament.js', import.meta.url);

let tournament: typeof Built.tournament;

beforeAll(async () => {
  if (!existsSync(fileURLToPath(built))) throw new Error('Nothing is built: run npm run build first.');
  ({ tournament } = (await import(built.href)) as typeof Built);
});

function cellJob(load: number, changes: Partial<Cell> = {}) {
  const cell: Cell = {
    target: 'rough_backend',
    family: 'f',
    curve: 'd',
    slots: 2,
    arrivals: { kind: 'poisson', load },
    items: 3000,
    seeds: [101, 102],
    noise: 0.3,
    ...changes,
  };
  return { kind: 'cell', cell } as const;
}

describe('with worker threads', () => {
  test('results are bit-identical to a run without threads', async () => {
    const jobs = [0.2, 0.4, 0.6, 0.8, 0.9].map((load) => cellJob(load));
    const alone = await tournament(jobs, { workers: 0 });
    for (const workers of [1, 2, 3]) expect(await tournament(jobs, { workers })).toEqual(alone);
  });

  test('a failing job names its cell, and the other threads end', async () => {
    const jobs = [cellJob(0.2), cellJob(0.5, { curve: 'unknown' }), cellJob(0.4), cellJob(0.6)];
    await expect(tournament(jobs, { workers: 2 })).rejects.toThrow('There is no curve unknown in the grid.');
    const elsewhere = [cellJob(0.2), cellJob(0.5, { target: 'two_slots', slots: 1, noise: 0 })];
    await expect(tournament(elsewhere, { workers: 2 })).rejects.toThrow(/^two_slots: d k 1 poisson ρ 0\.5: /);
  });

  test('at most one thread per job is started', async () => {
    const reported: number[] = [];
    await tournament([cellJob(0.2)], { workers: 64, onProgress: ({ done }) => reported.push(done) });
    expect(reported).toEqual([1]);
  });

  test('Ctrl-C ends it with all threads', async () => {
    const program = `import { tournament } from ${JSON.stringify(built.href)};
      const onProgress = ({ done }) => done === 1 && console.log('one is done');
      const jobs = Array(1000).fill(${JSON.stringify(cellJob(0.5))});
      await tournament(jobs, { workers: 2, onProgress });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'pipe' });
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
  });
});
