/** CPU time and memory of a process and all that it started, as the kernel counts them. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly cpuTicks: number;
}

/** User and system, of those that still run and of those that have been waited for. */
export function cpuSecondsOf(pid: number): number {
  const all = processes();
  const tree = new Set([pid]);
  // Children have larger numbers than their parents, unless numbers began again: so until none is added.
  for (let size = 0; size < tree.size; ) {
    size = tree.size;
    for (const one of all) if (tree.has(one.parent)) tree.add(one.pid);
  }
  const ticks = all.filter((one) => tree.has(one.pid)).reduce((sum, { cpuTicks }) => sum + cpuTicks, 0);
  return ticks / TICKS_PER_SECOND;
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = statOf(name);
      return stat === undefined ? [] : [stat];
    });
}

/** proc_pid_stat(5): the name may contain blanks and parentheses, and ends at the last one. */
function statOf(pid: string): Process | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (field: number) => Number(fields[field - 3]);
  return { pid: Number(pid), parent: at(4), cpuTicks: at(14) + at(15) + at(16) + at(17) };
}
