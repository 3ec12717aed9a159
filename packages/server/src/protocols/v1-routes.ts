/** `:predict` and the model's status, as clients of TensorFlow Serving and of KServe's first protocol expect them. */
import type { ModelRunner } from '@batchwise/runners';
import type { HttpCall, HttpRoute } from '../http/http-route.js';
import { MODEL_VERSION, type Models } from '../model-lookup.js';
import { withPeerTenant } from '../queue-options.js';
import { RequestError } from '../request-error.js';
import { checkContentType } from './content-type.js';
import { modelNamed, readySignature } from './path-model.js';
import { parsePredictRequest } from './predict-request.js';
import { formatPredictResponse } from './predict-response.js';
import type { ProtocolOptions } from './protocol-routes.js';
import { replyJson } from './reply-json.js';
import { requestOptions } from './request-options.js';
import { runModel } from './run-model.js';

const MODEL = '/v1/models/{model}';
const PREDICT = ':predict';

export function v1Routes(options: ProtocolOptions): HttpRoute[] {
  const { models } = options;
  return [
    {
      method: 'GET',
      path: '/v1/models',
      isWork: false,
      handle: (call) => replyJson(call, 200, { models: [...models.keys()] }),
    },
    ...[MODEL, `${MODEL}/versions/{version}`].flatMap((path): HttpRoute[] => [
      {
        method: 'GET',
        path,
        isWork: false,
        handle: (call) => status(call, models),
      },
      {
        method: 'POST',
        path: `${path}${PREDICT}`,
        label: `${MODEL}${PREDICT}`,
        handle: (call) => predict(call, options),
      },
    ]),
  ];
}

function status(call: HttpCall, models: Models): void {
  const asked = call.params.get('version') ?? call.params.get('model') ?? '';
  // Who opens it in a browser is not to read that there is no such model.
  if (asked.endsWith(PREDICT) && !models.has(asked)) {
    throw new RequestError('METHOD_NOT_ALLOWED', `${call.method} ${call.path}: expected POST.`, {
      headers: { allow: 'POST' },
    });
  }
  replyJson(call, 200, modelStatus(modelNamed(models, call.params)));
}

/** The words of TensorFlow Serving for the states of a model. */
const STATES = { loading: 'LOADING', ready: 'AVAILABLE', failed: 'END', closed: 'END' } as const;

/** What the two protocols want to know, in one. */
function modelStatus({ name, state, signature }: ModelRunner): unknown {
  const why = signature === undefined ? 'The model could not be loaded.' : 'The model is unreachable.';
  const status =
    state === 'failed'
      ? { error_code: 'UNKNOWN', error_message: why }
      : { error_code: 'OK', error_message: '' };
  return {
    name,
    ready: state === 'ready',
    model_version_status: [{ version: MODEL_VERSION, state: STATES[state], status }],
  };
}

function predict(call: HttpCall, protocol: ProtocolOptions): void {
  const runner = modelNamed(protocol.models, call.params);
  const signature = readySignature(runner);
  checkContentType(call.headers);
  const asked = requestOptions(call.headers, protocol);
  const options = withPeerTenant(asked, runner, () => call.peer, protocol.trustedHeaders);
  const { request, rows } = parsePredictRequest(call.body, signature, protocol.bodyLimits);
  runModel(call, runner, request, options, (tensors) => formatPredictResponse(signature, tensors, rows));
}
