/** Parses a scenario file of a test, with the peers and a few traces. */
import { PEERS, parseScenario, type ScenarioFile } from '@batchwise/arena';

export const contenders = new Map(PEERS.map((peer) => [peer.name, peer]));
const least = { curve: 'a', arrivals: { kind: 'poisson', load: 0.5 } };
const files: Record<string, string> = {
  'times.csv': '0\n1\n5\n',
  'items.csv': 'time_ms,cost,group\n0,2,a\n1,4,b\n5,1,a\n',
  'unsorted.csv': '0\n5\n3\n',
};

/** The text of a file, or keys in addition to the required ones. */
export function parsed(scenario: object | string): ScenarioFile {
  const text = typeof scenario === 'string' ? scenario : JSON.stringify({ ...least, ...scenario });
  return parseScenario(text, 'quiet.json', {
    contenders,
    readFile: (name) => {
      const file = files[name];
      if (file === undefined) throw new Error(`no such file: ${name}`);
      return file;
    },
  });
}
