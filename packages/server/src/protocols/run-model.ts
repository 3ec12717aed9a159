/** One request through a model: cancelled when its client hangs up, answered when it is done. */
import type { InferRequest, ModelRunner, Tensors } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import type { HttpCall } from '../http/http-route.js';
import type { HttpAnswer } from './http-answer.js';
import { traceHeaders } from './trace-headers.js';

export function runModel(
  call: HttpCall,
  runner: ModelRunner,
  request: InferRequest,
  options: EnqueueOptions | undefined,
  format: (tensors: Tensors) => HttpAnswer,
): void {
  const ticket = runner.enqueue(
    request,
    {
      resolve(tensors, trace) {
        if (call.isSettled) return;
        let answer: HttpAnswer;
        try {
          answer = format(tensors);
        } catch (error) {
          call.fail(error);
          return;
        }
        call.reply(200, traceHeaders(trace, answer.headers), answer.body);
      },
      reject(error) {
        call.fail(error);
      },
    },
    options,
  );
  if (!call.isSettled) call.onGone(() => ticket.cancel());
}
