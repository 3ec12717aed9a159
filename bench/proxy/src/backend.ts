/** The backend process: `node backend.js <http2 | grpc-js> <device> <on | off>`, off until it is told to begin. */
import { Device, type DeviceName } from './backends/device.js';
import { listen, tell } from './side.js';

const [kind = '', deviceName = 'none', power = 'on'] = process.argv.slice(2);
const device = new Device(deviceName as DeviceName, power === 'on');
const port =
  kind === 'grpc-js'
    ? await (await import('./backends/grpc-js-backend.js')).grpcJsBackend(device)
    : await (await import('./backends/bare-backend.js')).bareBackend(device);

listen({
  begin: () => device.begin(),
  report: () => tell({ type: 'device', report: device.report() }),
});
tell({ type: 'ready', port });
