/**
 * A batched method on @grpc/grpc-js, bytes in and out. Answers each message reversed after all messages have arrived.
 * The first byte of a message may request another behaviour.
 */
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';

const [port = '0'] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const asIs = (bytes) => bytes;

const method = {
  path: '/test.Mirror/BatchedReverse',
  requestStream: true,
  responseStream: true,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

function writeForEver(call) {
  if (call.cancelled) return;
  call.write(Buffer.from('surplus'));
  setImmediate(writeForEver, call);
}

function batchedReverse(call) {
  const items = [];
  call.on('data', (item) => items.push(item));
  call.on('cancelled', () => say('cancelled'));
  call.on('end', () => {
    say(`batch ${items.length}`);
    const metadata = new Metadata();
    items.forEach((item, i) => {
      if (item[0] === 1) metadata.add('batchwise-item-error', `${i} 3 byte%20one%2C no`);
      if (item[0] === 8) metadata.add('batchwise-item-error', `${i} 13 byte%20eight`);
    });
    call.sendMetadata(metadata);
    for (const item of items) {
      if (item[0] === 2) return call.emit('error', { code: status.INTERNAL, details: 'half way' });
      if (item[0] === 3) return call.end();
      if (item[0] === 4) return undefined; // hangs
      if (item[0] === 5) call.write(Buffer.from('one more'));
      call.write(Buffer.from(item).reverse());
    }
    if (items[0]?.[0] === 6) return undefined; // all answers, no end
    if (items[0]?.[0] === 7) return writeForEver(call);
    return call.end();
  });
}

const server = new Server();
server.addService({ batchedReverse: method }, { batchedReverse });
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
  if (error) throw error;
  say(`listening ${bound}`);
});
