/**
 * All settings of `batchwise proxy`: the source of the flags and their help, the names of variables, the checks, and the
 * tables of docs/reference/proxy.md.
 */
import { BACKEND_SETTINGS } from './proxy-backend-settings.js';
import { BATCH_SETTINGS } from './proxy-batch-settings.js';
import { LIMIT_SETTINGS, LISTEN_SETTINGS } from './proxy-listen-settings.js';
import { methodList } from './proxy-methods.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';

const METHODS = proxySetting('methods', methodList(BATCH_SETTINGS), {
  flag: '--method <path[=batched]>',
  isRepeated: true,
  default: '["*/Compute"]',
  meaning:
    'The batched method, and the name of the method that takes a batch. The first match applies; other methods are passed through.',
});

export interface SettingsGroup {
  readonly title: string;
  readonly settings: readonly ProxySetting[];
}

export const PROXY_GROUPS: readonly SettingsGroup[] = [
  { title: 'Batches', settings: [...BATCH_SETTINGS, METHODS] },
  { title: 'Backends', settings: BACKEND_SETTINGS },
  { title: 'The proxy itself', settings: LISTEN_SETTINGS },
  { title: 'Limits of clients', settings: LIMIT_SETTINGS },
];

export const PROXY_SETTINGS: readonly ProxySetting[] = PROXY_GROUPS.flatMap(({ settings }) => settings);
