/** Checks of the flags of `batchwise load` before the first request. */
import { parseThreshold } from '@batchwise/load';
import { UsageFailure } from '../terminal/failure.js';
import { checkFolderOf } from '../terminal/files.js';
import type { RequestFlags } from './load-flags.js';

export interface ScenarioFlags {
  readonly host?: string;
  readonly tag?: readonly string[];
}

export interface OutputFlags {
  readonly json?: string;
  readonly csv?: string;
  readonly html?: string;
  readonly saveTrace?: string;
  readonly saveCurve?: string;
  readonly saveScenario?: string;
}

interface CheckedFlags extends RequestFlags, ScenarioFlags, OutputFlags {
  readonly failIf?: readonly string[];
}

/**
 * @throws {UsageFailure} for an invalid rule, and for a flag that has no effect on such a target
 * @throws {Failure} for a file that has no folder
 */
export async function checkLoadFlags(target: string, flags: CheckedFlags): Promise<void> {
  flags.failIf?.forEach(checkRule);
  checkFlagsOf(target, flags);
  await checkFolders(flags);
}

function checkRule(rule: string): void {
  try {
    parseThreshold(rule);
  } catch (error) {
    throw new UsageFailure(`--fail-if: ${(error as Error).message}`, { cause: error });
  }
}

const SCENARIO_FILE = /\.[cm]?[jt]s$/;

export function isScenarioFile(target: string): boolean {
  return !target.includes('://') && SCENARIO_FILE.test(target);
}

async function checkFolders(flags: OutputFlags): Promise<void> {
  const { json, csv, html, saveTrace, saveCurve, saveScenario } = flags;
  const paths = {
    '--json': json,
    '--csv': csv,
    '--html': html,
    '--save-trace': saveTrace,
    '--save-curve': saveCurve,
    '--save-scenario': saveScenario,
  };
  for (const [flag, path] of Object.entries(paths)) {
    if (path !== undefined) await checkFolderOf(flag, path);
  }
}

const REQUEST_FLAGS = {
  data: '--data',
  method: '--method',
  header: '--header',
  proto: '--proto',
  ca: '--ca',
  insecure: '--insecure',
  timeout: '--timeout',
  okStatus: '--ok-status',
  okBody: '--ok-body',
  okJson: '--ok-json',
} as const satisfies Partial<Record<keyof RequestFlags, string>>;
const SCENARIO_FLAGS = { host: '--host', tag: '--tag' } as const satisfies Record<
  keyof ScenarioFlags,
  string
>;

/** @throws {UsageFailure} for a flag without effect: an ignored `--timeout` would falsify the figures */
function checkFlagsOf(target: string, flags: CheckedFlags): void {
  const isScenario = isScenarioFile(target);
  const ignored = Object.entries(isScenario ? REQUEST_FLAGS : SCENARIO_FLAGS);
  const given = ignored.find(([name]) => flags[name as keyof CheckedFlags] !== undefined);
  if (given === undefined) return;
  throw new UsageFailure(
    isScenario
      ? `${given[1]} has no effect on a scenario: set it in ${target}.`
      : `${given[1]} is for a scenario file. The target ${target} is a URL.`,
  );
}
