import { describe, expect, test } from 'vitest';
import { LoadError } from '../src/load-error.js';
import { judge, parseThreshold } from '../src/report/threshold.js';
import { type ScriptedRequest, scriptedReport } from './support/scripted-report.js';

describe('a threshold', () => {
  test.each([
    ['p99 > 100ms', 'p99', 'latency', '>', 100],
    ['p999>=0.1s', 'p999', 'latency', '>=', 100],
    ['  intended_p99   >  250 ms ', 'intended_p99', 'latency', '>', 250],
    ['queue_p99 > 5', 'queue_p99', 'latency', '>', 5],
    ['compute_mean > .5ms', 'compute_mean', 'latency', '>', 0.5],
    ['error_rate > 1%', 'error_rate', 'share', '>', 0.01],
    ['rejected_rate > 0.05', 'rejected_rate', 'share', '>', 0.05],
    ['goodput < 500', 'goodput', 'rate', '<', 500],
    ['goodput < 500/s', 'goodput', 'rate', '<', 500],
    ['goodput <= 95 %', 'goodput', 'share', '<=', 0.95],
    ['rate < 900/s', 'rate', 'rate', '<', 900],
    ['batch_size < 4', 'batch_size', 'number', '<', 4],
  ])('%s is understood', (rule, metric, quantity, comparison, limit) => {
    expect(parseThreshold(rule)).toEqual({ rule, metric, quantity, comparison, limit });
  });

  test.each([
    ['p98.9 > 3ms', /p98\.9 is unknown\. Did you mean p98\? Known: p50, .*intended_, .*batch_size\./],
    ['errorrate > 1%', /Did you mean error_rate\?/],
    ['constructor > 1', /constructor is unknown\./],
    ['p99', /Expected a name, one of > >= < <= and a number with its unit, such as 'p99 > 100ms'/],
    ['p99 = 3ms', /Expected a name/],
    ['p99 > -3ms', /Expected a name/],
    ['p99 > 3ms > 2ms', /Expected a name|not/],
    ['', /Invalid threshold ""/],
    ['p99 > 1%', /p99 has the unit ms or s, not %/],
    ['error_rate > 5ms', /error_rate has the unit %, not ms/],
    ['goodput < 3ms', /goodput has the unit \/s or %, not ms/],
    ['batch_size < 4%', /batch_size has no unit, not %/],
    ['error_rate > 1', /Expected a share with its unit: error_rate > 1%/],
    ['error_rate > 101%', /from 0% to 100%/],
  ])('%s is refused', (rule, message) => {
    expect(() => parseThreshold(rule)).toThrow(message);
    expect(() => parseThreshold(rule)).toThrow(LoadError);
  });
});

/** 10 requests within 2 s: 7 ok with latencies of 10 to 70 ms that start 5 ms late, 2 rejected, 1 failed. */
function mixed(outcome: object = {}) {
  const ok = [10, 20, 30, 40, 50, 60, 70].map((ms): ScriptedRequest => ({ ms, lateMs: 5, outcome }));
  const rejected: ScriptedRequest = { ms: 1, outcome: { kind: 'rejected', reason: '429' } };
  const failed: ScriptedRequest = { ms: 1, outcome: { kind: 'failed', reason: 'ECONNRESET' } };
  return scriptedReport({ seconds: [ok, [rejected, rejected, failed]], targetLatencyMs: 40 });
}

describe('a run', () => {
  const batched = mixed({ batchSize: 8, queueMs: 3, computeMs: 6 });

  test.each([
    ['max > 69ms', 70, true],
    ['max > 71ms', 70, false],
    ['min < 9ms', 10, false],
    ['mean >= 40ms', 40, true],
    ['intended_max > 74ms', 75, true],
    ['error_rate > 9%', 0.1, true],
    ['error_rate > 10%', 0.1, false],
    ['rejected_rate >= 20%', 0.2, true],
    ['rate < 5', 5, false],
    ['rate <= 5', 5, true],
    ['goodput < 2', 1.5, true],
    ['goodput < 30%', 0.3, false],
    ['batch_size < 4', 8, false],
    ['queue_max > 2ms', 3, true],
    ['compute_max > 7ms', 6, false],
    ['network_max > 60ms', 61, true],
  ])('is judged by %s', (rule, value, isBroken) => {
    const [verdict] = judge(batched, [parseThreshold(rule)]);
    expect(verdict).toEqual({ rule, value: expect.closeTo(value, 6), isBroken });
  });

  test('fails by a rule that has no value', () => {
    const rules = ['queue_p99 > 1s', 'batch_size < 1', 'network_mean > 1s'].map(parseThreshold);
    expect(judge(mixed(), rules)).toEqual(
      rules.map(({ rule }) => ({ rule, value: Number.NaN, isBroken: true })),
    );
    const allFailed = scriptedReport({
      seconds: [[{ ms: 1, outcome: { kind: 'failed', reason: 'ECONNREFUSED' } }]],
    });
    expect(judge(allFailed, [parseThreshold('p99 > 100ms')])).toMatchObject([{ isBroken: true }]);
    const nothing = scriptedReport({ seconds: [] });
    expect(judge(nothing, [parseThreshold('error_rate > 1%')])).toMatchObject([{ isBroken: true }]);
  });
});
