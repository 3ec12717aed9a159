import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';

/** What came of a call that a @grpc/grpc-js client made in bytes. */
export interface Outcome {
  readonly error: ServiceError | null;
  readonly answer: Buffer | undefined;
  readonly headers: Metadata | undefined;
  readonly status: StatusObject | undefined;
}

export function byteClient(
  port: number,
  options: ClientOptions = {},
  security: ChannelCredentials = credentials.createInsecure(),
): Client {
  return new Client(`localhost:${port}`, security, {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.enable_http_proxy': 0,
    ...options,
  });
}

const asIs = (message: Buffer) => message;

export function unary(
  client: Client,
  path: string,
  message: Buffer,
  {
    metadata = new Metadata(),
    deadline,
    onCall,
  }: { metadata?: Metadata; deadline?: Date; onCall?: (call: { cancel(): void }) => void } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    let headers: Metadata | undefined;
    let status: StatusObject | undefined;
    let result: Pick<Outcome, 'error' | 'answer'> | undefined;
    const settle = () => {
      if (result !== undefined && status !== undefined) resolve({ ...result, headers, status });
    };
    const call = client.makeUnaryRequest(
      path,
      asIs,
      asIs,
      message,
      metadata,
      deadline === undefined ? {} : { deadline },
      (error, answer) => {
        result = { error, answer };
        settle();
      },
    );
    call.on('metadata', (received: Metadata) => {
      headers = received;
    });
    call.on('status', (received: StatusObject) => {
      status = received;
      settle();
    });
    onCall?.(call);
  });
}
