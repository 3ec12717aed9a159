/** The backend process: `node backend.js <http2 | grpc-js> <device> <on | off>`; `off` until the message `begin`. */
import { Device, type DeviceName } from './backends/device.js';
import { listen, send } from './side.js';

const [kind = '', deviceName = 'none', power = 'on'] = process.argv.slice(2);
const device = new Device(deviceName as DeviceName, power === 'on');
const port =
  kind === 'grpc-js'
    ? await (await import('./backends/grpc-js-backend.js')).grpcJsBackend(device)
    : await (await import('./backends/bare-backend.js')).bareBackend(device);

listen({
  begin: () => device.begin(),
  report: () => send({ type: 'device', report: device.report() }),
});
send({ type: 'ready', port });
