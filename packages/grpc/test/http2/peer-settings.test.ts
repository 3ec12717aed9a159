import { expect, test } from 'vitest';
import { ERROR_CODE } from '../../src/http2/error-code.js';
import { PeerSettings } from '../../src/http2/peer-settings.js';
import { setting } from '../support/raw-http2.js';

test('what a peer says holds, what it does not is as before, what nobody knows is passed over', () => {
  const settings = new PeerSettings();
  settings.apply(Buffer.concat([setting(3, 100), setting(0xff, 7), setting(3, 50)]));
  settings.apply(Buffer.concat([setting(4, 1_000_000), setting(5, 2 ** 24 - 1), setting(6, 8192)]));
  expect(settings).toMatchObject({
    headerTableBytes: 4096,
    maxStreams: 50,
    windowBytes: 1_000_000,
    maxPayloadBytes: 2 ** 24 - 1,
    maxHeaderBytes: 8192,
  });
});

test.each([
  ['half a setting', Buffer.alloc(7), ERROR_CODE.FRAME_SIZE_ERROR],
  ['a window beyond all measure', setting(4, 2 ** 31), ERROR_CODE.FLOW_CONTROL_ERROR],
  ['frames that are too small', setting(5, 16_383), ERROR_CODE.PROTOCOL_ERROR],
  ['frames that are too large', setting(5, 2 ** 24), ERROR_CODE.PROTOCOL_ERROR],
  ['pushes to a server', setting(2, 1), ERROR_CODE.PROTOCOL_ERROR],
])('%s ends the connection', (_name, payload, errorCode) => {
  expect(() => new PeerSettings().apply(payload)).toThrow(expect.objectContaining({ errorCode }));
});
