import { VirtualClock } from 'batchwise';
import { expect, it } from 'vitest';
import { AnswersOnTheWay, type UntakenAnswer } from '../src/answers-on-the-way.js';
import { DEFAULT_SERVER_LIMITS } from '../src/server-limits.js';

it('the connection that holds most loses its oldest answer, however late another one comes', () => {
  const answers = new AnswersOnTheWay(new VirtualClock(), { ...DEFAULT_SERVER_LIMITS, maxUntakenBytes: 100 });
  const dropped: string[] = [];
  const add = (connection: object, name: string, bytes: number) => {
    const answer: UntakenAnswer = {
      connection,
      expiresAt: 0,
      before: undefined,
      after: undefined,
      expire: () => dropped.push(name),
    };
    answers.add(answer, bytes);
    return answer;
  };
  const [slow, greedy, late] = [{}, {}, {}];
  const first = add(slow, 'slow', 20);
  for (let i = 0; i < 4; i++) add(greedy, `greedy ${i}`, 20);
  expect(dropped).toEqual([]);
  add(late, 'late', 30);
  expect(dropped).toEqual(['greedy 0', 'greedy 1']);
  answers.remove(first);
  answers.remove(first);
  expect(answers.bytes).toBe(70);
  answers.line.clear();
});
