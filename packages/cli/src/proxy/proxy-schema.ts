/**
 * Every setting of `batchwise proxy`. The flags with their help, the names of variables, the checks and the tables of
 * docs/reference/proxy.md all come from here.
 */
import { BACKEND_SETTINGS } from './proxy-backend-settings.js';
import { BATCH_SETTINGS } from './proxy-batch-settings.js';
import { DOOR_SETTINGS, LIMIT_SETTINGS } from './proxy-door-settings.js';
import { methodList } from './proxy-methods.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';

const METHODS = proxySetting('methods', methodList(BATCH_SETTINGS), {
  flag: '--method <path[=batched]>',
  isRepeated: true,
  default: '["*/Compute"]',
  meaning:
    'What is batched, and how the method is called that takes a batch. The first that fits counts; what fits none is passed through.',
});

export interface SettingsGroup {
  readonly title: string;
  readonly settings: readonly ProxySetting[];
}

export const PROXY_GROUPS: readonly SettingsGroup[] = [
  { title: 'Batches', settings: [...BATCH_SETTINGS, METHODS] },
  { title: 'Backends', settings: BACKEND_SETTINGS },
  { title: 'The proxy itself', settings: DOOR_SETTINGS },
  { title: 'Limits of clients', settings: LIMIT_SETTINGS },
];

export const PROXY_SETTINGS: readonly ProxySetting[] = PROXY_GROUPS.flatMap(({ settings }) => settings);
