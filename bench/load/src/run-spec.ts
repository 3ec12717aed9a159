/** The request of the benchmark, for our generator. */
import type { RunSpec } from '@batchwise/load';
import type { BatchwiseLoad } from './batchwise-load.js';
import { EXPECTED_LABEL, REQUEST_BODY } from './native-server.js';

export function runSpec({ url, traffic, seconds }: BatchwiseLoad): RunSpec {
  return {
    work: {
      kind: 'target',
      target: {
        url,
        data: [{ json: JSON.parse(REQUEST_BODY) }],
        success: { json: { path: 'label', value: EXPECTED_LABEL } },
      },
    },
    traffic,
    seconds,
  };
}
