/** Runs the first program of a README. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { transformSync } from 'esbuild';

type AsyncFunction = (...args: unknown[]) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => AsyncFunction;

export interface ReadmeProgram {
  /** What the README says that it prints. */
  readonly expected: string;
  /** Runs it with these modules, and these texts replaced; resolves to what it prints. */
  run(
    modules: Readonly<Record<string, object>>,
    replaced?: Readonly<Record<string, string>>,
  ): Promise<string>;
}

export function readmeProgram(readme: URL): ReadmeProgram {
  const [, code = '', expected = ''] =
    /^```ts\n(.*?)^```\n+```text\n(.*?)^```$/ms.exec(readFileSync(readme, 'utf8')) ?? [];
  return {
    expected,
    async run(modules, replaced = {}) {
      let source = code.replaceAll(/^import (\{.*?\}) from ('.*?');$/gm, 'const $1 = modules[$2];');
      for (const [text, other] of Object.entries(replaced)) source = source.replaceAll(text, other);
      source = transformSync(source, { loader: 'ts' }).code;
      let printed = '';
      const print = (...values: unknown[]) => {
        printed += `${values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ')}\n`;
      };
      await new AsyncFunction('modules', 'console', source)(modules, { log: print });
      return printed;
    },
  };
}
