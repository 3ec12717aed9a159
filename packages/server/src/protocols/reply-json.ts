import type { HttpCall } from '../http/http-route.js';

export function replyJson(call: HttpCall, status: number, value: unknown): void {
  call.reply(status, { 'content-type': 'application/json' }, JSON.stringify(value));
}
