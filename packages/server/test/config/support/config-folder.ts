/** A folder with files of settings, and the loader looking from there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../../src/config/config-error.js';
import { type LoadConfigOptions, loadConfig } from '../../../src/config/load-config.js';
import type { LoadedConfig } from '../../../src/config/loaded-config.js';

export class ConfigFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'batchwise-config-'));

  write(name: string, content: string | Uint8Array): string {
    writeFileSync(join(this.path, name), content);
    return name;
  }

  /** With the text as batchwise.yaml. */
  load(text: string, options: LoadConfigOptions = {}): LoadedConfig {
    this.write('batchwise.yaml', text);
    return loadConfig({ cwd: this.path, ...options });
  }

  /** The complaints, one a line. */
  complaints(text: string, options: LoadConfigOptions = {}): string[] {
    return complaintsOf(() => this.load(text, options));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function complaintsOf(load: () => unknown): string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}
