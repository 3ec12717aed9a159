/** The long version. */
import '../system/grpc-js-clients.test.js';
