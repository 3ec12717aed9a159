import { describe, expect, test } from 'vitest';
import { failuresCsv, historyCsv, statsCsv } from '../src/report/locust-csv.js';
import { busyMinute, type ScriptedRequest, scriptedReport } from './support/scripted-report.js';

const ok = (ms: number, name = 'POST /classify'): ScriptedRequest => ({ name, ms });
const bad = (kind: 'failed' | 'rejected', reason: string, name = 'POST /classify'): ScriptedRequest => ({
  name,
  ms: 1,
  outcome: { kind, reason, responseBytes: 0 },
});

function cells(csv: string): string[][] {
  return csv
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
}

test('requests have the columns of Locust, one row for each name and one for all', () => {
  const report = scriptedReport({
    seconds: [
      [ok(10), ok(20), bad('failed', 'ECONNRESET')],
      [ok(30), bad('rejected', '429'), ok(5, 'search')],
    ],
  });
  expect(statsCsv(report).split('\r\n')).toEqual([
    'Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%',
    expect.stringMatching(/^POST,\/classify,5,2,20(\.\d+)?,20,10,30,60,2\.5,1,20(\.\d+)?,20/),
    expect.stringMatching(/^,search,1,0,5(\.\d+)?,5,5,5,100,0\.5,0(,5(\.\d+)?){11}$/),
    expect.stringMatching(/^,Aggregated,6,2,/),
    '',
  ]);
});

test('the history has the columns of Locust, and in each second the figures so far', () => {
  const report = scriptedReport({
    seconds: [[bad('failed', 'ECONNRESET')], [ok(10), ok(10)], [], [ok(50)]],
    users: (second) => 2 * second,
  });
  const [head, ...rows] = cells(historyCsv(report));
  expect(head?.join(',')).toBe(
    'Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%,Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time,Total Average Content Size',
  );
  const started = Math.floor(Date.parse(report.startedAt) / 1000);
  expect(rows.map((row) => Number(row[0]) - started)).toEqual([1, 2, 3, 4]);
  expect(rows.map((row) => row.slice(1, 6).join())).toEqual([
    '0,,Aggregated,1,1',
    '2,,Aggregated,2,0',
    '4,,Aggregated,0,0',
    '6,,Aggregated,1,0',
  ]);
  expect(rows[0]?.slice(6, 17)).toEqual(new Array(11).fill('N/A'));
  expect(rows.map((row) => row[16])).toEqual(['N/A', '10', '10', '50']);
  expect(rows.map((row) => row.slice(17, 19).join())).toEqual(['1,1', '3,1', '3,1', '4,1']);
  expect(rows.map((row) => row[20])).toEqual(['0', '10', '10', expect.stringMatching(/^23\.333/)]);
  expect(rows.at(-1)?.slice(21)).toEqual(['10', '50', '75']);
});

test('the last row of a long history has the totals of the run', () => {
  const report = busyMinute();
  const [total] = cells(statsCsv(report)).slice(-1);
  const [last] = cells(historyCsv(report)).slice(-1);
  // Count and failures, then median, average, least, largest and size.
  expect(last?.slice(17)).toEqual(total?.slice(2, 9));
  expect(last?.slice(6, 17)).toEqual(total?.slice(11));
});

describe('failures', () => {
  test('are listed with their reason and how often they occurred', () => {
    const report = scriptedReport({
      seconds: [[bad('failed', 'ECONNRESET'), bad('failed', 'ECONNRESET'), bad('rejected', '429', 'search')]],
    });
    expect(failuresCsv(report)).toBe(
      'Method,Name,Error,Occurrences\r\nPOST,/classify,ECONNRESET,2\r\n,search,429,1\r\n',
    );
  });

  test.each([
    ['said "no", twice', '"said ""no"", twice"'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['＝1', "'＝1"],
    ['\t=1', "'\t=1"],
    ['\n1', `"'\n1"`],
    ['a=b', 'a=b'],
  ])('%j cannot break the file or run as a formula', (text, cell) => {
    const report = scriptedReport({ seconds: [[bad('failed', text, text)]] });
    expect(failuresCsv(report)).toBe(`Method,Name,Error,Occurrences\r\n,${cell},${cell},1\r\n`);
    expect(statsCsv(report)).toContain(`\r\n,${cell},1,1,`);
  });

  test('a formula behind a method is no formula either', () => {
    const report = scriptedReport({ seconds: [[bad('failed', 'x', 'GET =1+1')]] });
    expect(failuresCsv(report)).toContain("GET,'=1+1,x,1");
  });
});
