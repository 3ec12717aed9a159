import { ServiceErrors } from '@batchwise/aws';

/** SQS rejects a whole request because of one message: the others may be sent without it. */
const REJECTED = /(InvalidMessageContents|InvalidParameterValue|MissingParameter|BatchRequestTooLong)/;

export const sqsErrors = new ServiceErrors('SQS', REJECTED);
