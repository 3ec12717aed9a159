/** Which commands are sent; no server is needed. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PipelineClient, pipelineBatcher, type RedisCommand } from '../src/index.js';

/** A client that replies to each command with the command. */
function echo() {
  const pipelines: unknown[][] = [];
  const client: PipelineClient = {
    pipeline() {
      const commands: unknown[] = [];
      return {
        call: (...command) => commands.push(command),
        exec: async () => {
          pipelines.push(commands);
          return commands.map((command) => [null, command]);
        },
      };
    },
  };
  return { client, pipelines };
}

test.each<{ command: RedisCommand }>([
  { command: ['SUBSCRIBE', 'channel'] },
  { command: ['monitor'] },
  { command: ['Multi'] },
  { command: ['EXEC'] },
  { command: ['WATCH', 'key'] },
  { command: ['BLPOP', 'list', 0] },
  { command: ['bzmpop', 1, 1, 'set', 'MIN'] },
  { command: ['WAIT', 1, 0] },
  { command: ['XREAD', 'COUNT', 1, 'block', 0, 'STREAMS', 's', '$'] },
  { command: ['XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', 0, 'STREAMS', 's', '>'] },
  { command: ['SELECT', 1] },
  { command: ['QUIT'] },
  { command: ['CLIENT', 'REPLY', 'OFF'] },
  { command: ['client', Buffer.from('tracking'), 'ON'] },
  { command: ['AUTH', 'secret'] },
  { command: ['HELLO', 3] },
  { command: ['RESET'] },
])('$command is INVALID_ITEM', async ({ command }) => {
  const { client, pipelines } = echo();
  await expect(pipelineBatcher(client).submit(command)).rejects.toMatchObject({
    code: 'INVALID_ITEM',
    message: expect.stringContaining(command[0]),
  });
  expect(pipelines).toEqual([]);
});

test.each<{ command: RedisCommand }>([
  { command: ['XREAD', 'COUNT', 1, 'STREAMS', 'block', '0'] },
  { command: ['XREADGROUP', 'GROUP', 'block', 'block', 'STREAMS', 's', '>'] },
  { command: ['CLIENT', 'ID'] },
  { command: ['GET', 'MULTI'] },
  { command: ['SET', Buffer.from([0, 255]), Number.POSITIVE_INFINITY] },
  { command: ['JSON.GET', 'key'] },
])('$command is sent', async ({ command }) => {
  const { client } = echo();
  const [name, ...args] = command;
  expect(await pipelineBatcher(client).submit(command)).toEqual([name.toLowerCase(), ...args]);
});

test.each([
  [['GET', undefined]],
  [['GET', null]],
  [['GET', ['key']]],
  [['GET', {}]],
  [['GET', Number.NaN]],
  [['GET', new Uint8Array(1)]],
  [['GET', () => {}]],
  [[]],
  [['']],
  [[1]],
  ['GET'],
  [null],
])('%j is no command: INVALID_ITEM', async (command) => {
  const { client, pipelines } = echo();
  const submitted = pipelineBatcher(client).submit(command as unknown as RedisCommand);
  await expect(submitted).rejects.toMatchObject({ code: 'INVALID_ITEM' });
  expect(pipelines).toEqual([]);
});

test('any mixture of valid and invalid commands: one pipeline, replies in the order of the commands', async () => {
  const command = fc.oneof(
    fc.tuple(fc.constant('get'), fc.string()),
    fc.constantFrom(['MULTI'], ['GET', null], ['SELECT', '1']),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(command), async (commands) => {
      const { client, pipelines } = echo();
      const batcher = pipelineBatcher(client);
      const settled = await Promise.allSettled(commands.map((one) => batcher.submit(one as RedisCommand)));
      const valid = commands.filter(([name, key]) => name === 'get' && typeof key === 'string');
      expect(pipelines).toEqual(valid.length > 0 ? [valid] : []);
      expect(settled.map((call) => (call.status === 'fulfilled' ? call.value : call.reason.code))).toEqual(
        commands.map((one) => (valid.includes(one) ? one : 'INVALID_ITEM')),
      );
    }),
  );
});

test('a Cluster, or no client at all, is INVALID_OPTION', () => {
  const { client } = echo();
  expect(() => pipelineBatcher({ ...client, isCluster: true })).toThrow(/enableAutoPipelining/);
  expect(() => pipelineBatcher({} as PipelineClient)).toThrow(/ioredis/);
  expect(() => pipelineBatcher(client, { maxBatchsize: 3 } as object)).toThrow(/unknown option/);
});
