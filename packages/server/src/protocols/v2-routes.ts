/** The REST endpoints of the Open Inference Protocol, version 2. */
import type { ModelRunner, TensorSpec } from '@batchwise/runners';
import type { HttpCall, HttpRoute } from '../http/http-route.js';
import { MODEL_VERSION } from '../model-lookup.js';
import { withPeerTenant } from '../queue-options.js';
import { checkContentType } from './content-type.js';
import { parseInferRequest } from './infer-request.js';
import { formatInferResponse } from './infer-response.js';
import { modelNamed, readySignature } from './path-model.js';
import type { ProtocolOptions } from './protocol-routes.js';
import { replyJson } from './reply-json.js';
import { requestOptions } from './request-options.js';
import { runModel } from './run-model.js';

const MODEL = '/v2/models/{model}';

export function v2Routes(options: ProtocolOptions): HttpRoute[] {
  const { models } = options;
  return [
    ...healthRoutes(options),
    ...[MODEL, `${MODEL}/versions/{version}`].flatMap((path): HttpRoute[] => [
      {
        method: 'GET',
        path,
        isWork: false,
        handle: (call) => replyJson(call, 200, modelMetadata(modelNamed(models, call.params))),
      },
      {
        method: 'GET',
        path: `${path}/ready`,
        isWork: false,
        handle: (call) => modelReady(call, modelNamed(models, call.params)),
      },
      {
        method: 'POST',
        path: `${path}/infer`,
        label: `${MODEL}/infer`,
        handle: (call) => infer(call, options),
      },
    ]),
  ];
}

function healthRoutes(options: ProtocolOptions): HttpRoute[] {
  const { name, version } = options;
  const metadata = { name, version, extensions: ['binary_tensor_data'] };
  return [
    { method: 'GET', path: '/v2', isWork: false, handle: (call) => replyJson(call, 200, metadata) },
    {
      method: 'GET',
      path: '/v2/health/live',
      isWork: false,
      handle: (call) => replyJson(call, 200, { live: true }),
    },
    {
      method: 'GET',
      path: '/v2/health/ready',
      isWork: false,
      handle: (call) => {
        const ready = options.isReady();
        replyJson(call, ready ? 200 : 503, { ready });
      },
    },
  ];
}

function modelMetadata(runner: ModelRunner): unknown {
  const { inputs, outputs } = readySignature(runner);
  return {
    name: runner.name,
    versions: [MODEL_VERSION],
    platform: runner.platform,
    inputs: inputs.map(tensorMetadata),
    outputs: outputs.map(tensorMetadata),
  };
}

/** The parameters are an extension: each request or result has its own datatype or shape. */
function tensorMetadata({ name, datatype, shape, anyDatatype, anyShape }: TensorSpec): unknown {
  if (!anyDatatype && !anyShape) return { name, datatype, shape };
  return { name, datatype, shape, parameters: { any_datatype: anyDatatype, any_shape: anyShape } };
}

function modelReady(call: HttpCall, runner: ModelRunner): void {
  const ready = runner.state === 'ready';
  replyJson(call, ready ? 200 : 503, { name: runner.name, ready });
}

function infer(call: HttpCall, protocol: ProtocolOptions): void {
  const runner = modelNamed(protocol.models, call.params);
  const signature = readySignature(runner);
  checkContentType(call.headers);
  const asked = requestOptions(call.headers, protocol);
  const options = withPeerTenant(asked, runner, () => call.peer, protocol.trustedHeaders);
  const { request, id, outputs } = parseInferRequest(call.body, call.headers, signature, protocol.bodyLimits);
  runModel(call, runner, request, options, (tensors) =>
    formatInferResponse({ model: runner.name, id, outputs }, tensors),
  );
}
