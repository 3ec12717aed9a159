/** CPU seconds of every process that descends from this one, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every Linux there is. */
const TICKS_A_SECOND = 100;

/** By pid: who it is and what it has used so far. */
export function cpuSeconds(roleOf) {
  const all = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // Fields 14 and 15 of the line are user and system time; `rest` begins at field 5.
      const seconds = (Number(rest[9]) + Number(rest[10])) / TICKS_A_SECOND;
      all.set(Number(pid), { parent: Number(parent), seconds, command: commandOf(pid) });
    } catch {
      // Gone meanwhile.
    }
  }
  const found = new Map();
  for (const [pid, { seconds, command }] of all) {
    if (descends(pid, all)) found.set(pid, { role: roleOf(pid, command), seconds });
  }
  return found;
}

/** Cores in use from one reading to the next, each process by itself, by role. */
export function coresBetween(before, after, elapsedMs) {
  const roles = {};
  for (const [pid, { role, seconds }] of after) {
    const cores = (1000 * (seconds - (before.get(pid)?.seconds ?? seconds))) / elapsedMs;
    if (cores >= 0.005) roles[role] = [...(roles[role] ?? []), Number(cores.toFixed(2))];
  }
  return roles;
}

function commandOf(pid) {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}

function descends(pid, all) {
  for (let at = all.get(pid)?.parent; at !== undefined && at > 1; at = all.get(at)?.parent) {
    if (at === process.pid) return true;
  }
  return false;
}
