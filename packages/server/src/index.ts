export {
  REQUEST_ERRORS,
  RequestError,
  type RequestErrorCode,
  type RequestErrorOptions,
} from './request-error.js';
