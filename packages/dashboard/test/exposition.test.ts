import { expect, test } from 'vitest';
import { parseExposition } from '../src/page/exposition.js';

test('samples are found by name, with their labels', () => {
  const found = parseExposition(`# HELP a_total What it counts.
# TYPE a_total counter
a_total 3
a_total{x="1",y="two"} 4.5
b{le="+Inf"} +Inf
c NaN

`);
  expect([...found.keys()]).toEqual(['a_total', 'b', 'c']);
  expect(found.get('a_total')).toEqual([
    { labels: new Map(), value: 3 },
    { labels: new Map(Object.entries({ x: '1', y: 'two' })), value: 4.5 },
  ]);
  expect(found.get('b')?.[0]?.value).toBe(Number.POSITIVE_INFINITY);
  expect(found.get('c')?.[0]?.value).toBeNaN();
});

test('labels may hold anything, escaped', () => {
  const [sample] = parseExposition('a{route="/x{y}",text="\\"q\\" \\\\ \\n, z=\\"1\\""} 1').get('a') ?? [];
  expect(Object.fromEntries(sample?.labels ?? [])).toEqual({ route: '/x{y}', text: '"q" \\ \n, z="1"' });
});

test('what is no sample is passed over', () => {
  expect(parseExposition('<html>\n\n# comment\n{} 3\n')).toEqual(new Map());
});
