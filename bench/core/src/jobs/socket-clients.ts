/** Clients on their own thread: each sends a request, waits for the response, and sends the next one. */
import { connect } from 'node:net';
import { workerData } from 'node:worker_threads';

const { port, sockets } = workerData as { readonly port: number; readonly sockets: number };
const request = Buffer.from('request\n');

for (let i = 0; i < sockets; i++) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('connect', () => socket.write(request));
  socket.on('data', () => socket.write(request));
}
