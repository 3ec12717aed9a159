/** `npm run build` for `npm start`: says what it does if it takes longer than an incremental build. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const QUIET_MS = 2000;

const startedAt = performance.now();
let isShown = false;
const timer = setTimeout(() => {
  isShown = true;
  console.error('Compiling the packages. The first time takes up to half a minute …');
}, QUIET_MS);
const build = spawn('npm', ['run', '--silent', 'build'], {
  stdio: 'inherit',
  // On Windows, npm is a script.
  shell: process.platform === 'win32',
});
const [code] = await once(build, 'close');
clearTimeout(timer);
if (isShown && code === 0)
  console.error(`Compiled in ${((performance.now() - startedAt) / 1000).toFixed(0)} s.`);
process.exitCode = code ?? 1;
