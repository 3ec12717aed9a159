/** The long version. */
import '../system/echo.test.js';
