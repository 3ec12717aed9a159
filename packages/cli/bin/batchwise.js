#!/usr/bin/env node
import { existsSync } from 'node:fs';

// The command is compiled; this file is not, so that npm can link it before anything is built.
const main = new URL('../dist/main.js', import.meta.url);

if (existsSync(main)) await import(main.href);
else {
  console.error("error: batchwise is not built yet. Run 'npm run build' in the root of the repository.");
  process.exitCode = 1;
}
