import { expect, onTestFinished, test } from 'vitest';
import { FakeRunner } from '../grpc/support/fake-runner.js';
import { failureOf, InferenceClient } from '../grpc/support/inference-client.js';
import { served } from '../grpc/support/served.js';

const CLIENTS = 4;
const CALLS_AT_A_TIME = 32;

test('a server that drains under load answers all it has accepted, and the rest is told to go elsewhere', async () => {
  const accepted = new Set<number>();
  const runner = new FakeRunner('m', (call) => {
    accepted.add(Number(call.item.inputs.get('x')?.data[0]));
    setImmediate(() => call.answer());
  });
  const { server, port } = await served([runner]);
  const answered = new Set<number>();
  const refusals: string[] = [];
  let next = 0;
  const keepAsking = async (client: InferenceClient) => {
    for (;;) {
      const number = next++;
      const contents = { int_contents: [number] };
      const call = client.infer({
        model_name: 'm',
        inputs: [{ name: 'x', datatype: 'INT32', shape: [1], contents }],
      });
      try {
        const { response } = await call;
        expect(response.outputs[0].contents.int_contents).toEqual([number]);
        answered.add(number);
      } catch {
        const { status } = await failureOf(call);
        refusals.push(status);
        return;
      }
    }
  };
  const users = Array.from({ length: CLIENTS }, () => {
    const client = new InferenceClient(port);
    onTestFinished(() => client.close());
    return Array.from({ length: CALLS_AT_A_TIME }, () => keepAsking(client));
  }).flat();
  await runner.until(() => answered.size > 500);
  expect(await server.drain(60_000)).toBe(0);
  await Promise.all(users);
  expect([...accepted].filter((number) => !answered.has(number))).toEqual([]);
  expect(new Set(refusals)).toEqual(new Set(['UNAVAILABLE']));
  expect(refusals).toHaveLength(CLIENTS * CALLS_AT_A_TIME);
});
