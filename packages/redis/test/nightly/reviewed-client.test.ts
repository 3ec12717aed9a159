/** The long version. */
import '../system/reviewed-client.test.js';
