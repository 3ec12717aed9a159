/** To be loaded before a program: its machine's clock is off by so many milliseconds. */
import process from 'node:process';

const skewMs = Number(process.env.SKEW_MS);
const realNow = Date.now;
Date.now = () => realNow() + skewMs;
globalThis.Date = new Proxy(Date, {
  construct: (Real, args, target) => Reflect.construct(Real, args.length === 0 ? [Real.now()] : args, target),
});
