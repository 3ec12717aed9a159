import { accept, describeValue, type Kind, refuse } from '../setting-kind.js';
import { isFitText } from './text-kinds.js';

const QUEUE = 'a name of 1 to 200 characters without spaces and braces';

/** What @batchwise/redis takes as one. */
export const queueName: Kind<string> = {
  expected: QUEUE,
  isText: true,
  parse: (value) =>
    isFitText(value) && /^[^\s{}]{1,200}$/.test(value) ? accept(value) : refuse(QUEUE, value),
  write: (value) => value,
};

const URL_FORMS = 'a URL such as redis://host:6379, rediss://, redis+cluster:// or redis+sentinel://';

/** Only what it begins with is looked at here; a password in it is not shown, neither in reports nor in complaints. */
export const redisUrl: Kind<string> = {
  expected: URL_FORMS,
  isText: true,
  parse(value) {
    if (!isFitText(value)) return refuse(URL_FORMS, value);
    if (/^rediss?(\+cluster|\+sentinel)?:\/\/[^\s]+$/.test(value)) return accept(value);
    const scheme = /^[a-z][a-z0-9+.-]{0,30}:\/\//i.exec(value)?.[0];
    const came = scheme === undefined ? 'another value' : `a URL that begins with ${describeValue(scheme)}`;
    return { complaints: [{ at: [], message: `expected ${URL_FORMS}, got ${came}.` }] };
  },
  write: (value) =>
    value.replace(/^([^:]*:\/\/[^:@/]*):[^@]*@/, '$1:***@').replace(/(Password=)[^&]*/, '$1***'),
};
