/** `grpc.health.v1.Health`, of the server as a whole and of each model by its name. */
import { type ModelRunner, quoted } from '@batchwise/runners';
import {
  type handleUnaryCall,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { RequestError } from '../request-error.js';
import { grpcStatus } from './grpc-status.js';
import { INFERENCE_SERVICE } from './service-definitions.js';

export interface HealthServiceOptions {
  readonly models: ReadonlyMap<string, ModelRunner>;
  isReady(): boolean;
  /** Nothing is served from then on. */
  isDraining(): boolean;
}

type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

interface HealthQuestion {
  readonly service: string;
}

interface HealthAnswer {
  readonly status: ServingStatus;
}

interface Watcher {
  readonly call: ServerWritableStream<HealthQuestion | RequestError, HealthAnswer>;
  readonly service: string;
  last: ServingStatus | undefined;
}

export class HealthService {
  readonly #options: HealthServiceOptions;
  readonly #watchers = new Set<Watcher>();
  readonly #stopWatching: readonly (() => void)[];
  #isServing = true;

  constructor(options: HealthServiceOptions) {
    this.#options = options;
    const refresh = () => this.refresh();
    this.#stopWatching = [...options.models.values()].map((model) => model.onStateChange(refresh));
  }

  /** False takes the server and all of its models out of service, ready or not. */
  setServing(isServing: boolean): void {
    this.#isServing = isServing;
    this.refresh();
  }

  /** Tells the watchers what has changed. */
  refresh(): void {
    for (const watcher of this.#watchers) this.#tell(watcher);
  }

  /** Lets the watchers go, after what they are yet to be told. */
  end(error: RequestError): void {
    for (const stop of this.#stopWatching) stop();
    for (const { call } of this.#watchers) call.emit('error', grpcStatus(error));
    this.#watchers.clear();
  }

  /** As grpc-js takes it. */
  methods(): UntypedServiceImplementation {
    const check: handleUnaryCall<HealthQuestion | RequestError, HealthAnswer> = (call, callback) => {
      const { request } = call;
      if (request instanceof RequestError) return callback(grpcStatus(request));
      const current = this.#statusOf(request.service);
      if (current !== 'SERVICE_UNKNOWN') return callback(null, { status: current });
      callback({
        code: status.NOT_FOUND,
        details: `service: expected none, a model or ${INFERENCE_SERVICE}, got ${quoted(request.service)}.`,
      });
    };
    return { Check: check, Watch: (call: Watcher['call']) => this.#watch(call) };
  }

  #watch(call: Watcher['call']): void {
    const { request } = call;
    if (request instanceof RequestError) {
      call.emit('error', grpcStatus(request));
      return;
    }
    const watcher: Watcher = { call, service: request.service, last: undefined };
    this.#watchers.add(watcher);
    call.once('cancelled', () => this.#watchers.delete(watcher));
    this.#tell(watcher);
  }

  #tell(watcher: Watcher): void {
    const current = this.#statusOf(watcher.service);
    if (current === watcher.last) return;
    watcher.last = current;
    watcher.call.write({ status: current });
  }

  #statusOf(service: string): ServingStatus {
    const isOpen = this.#isServing && !this.#options.isDraining();
    if (service === '' || service === INFERENCE_SERVICE) {
      return isOpen && this.#options.isReady() ? 'SERVING' : 'NOT_SERVING';
    }
    const model = this.#options.models.get(service);
    if (!model) return 'SERVICE_UNKNOWN';
    return isOpen && model.state === 'ready' ? 'SERVING' : 'NOT_SERVING';
  }
}
