/** The kinds of values of the proxy: backends, methods, metadata keys. */
import type { TenantBy } from '@batchwise/proxy';
import {
  acceptSetting,
  describeValue,
  isFitText,
  type SettingComplaint,
  type SettingKind,
  type SettingVerdict,
} from '@batchwise/server';

/** Returns a hint for an invalid entry of a list, undefined for a valid one. */
type Judge = (entry: string) => string | undefined;

const TARGET = 'host:port, [address]:port, unix:/path or dns:///name:port';
const METHOD = '/package.Service/Method, or */Method for any service';
const BATCHED =
  'the name of a method, such as BatchedCompute, or a path, such as /package.Service/BatchedCompute';
const METADATA = 'a metadata key in lower case, such as authorization';

export const targetList = textList(`a list of backends, each ${TARGET}`, TARGET, (target) => {
  if (isTarget(target)) return undefined;
  const bare = target.replace(/^(?:https?|grpcs?|tcp):\/\/|\/+$/gi, '');
  const meant = [bare, `${bare}:50051`].find(isTarget);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
});

/** Without the keys that gRPC and HTTP/2 reserve. */
export const metadataKeys = textList(
  'a list of metadata keys in lower case',
  METADATA,
  (key) => (/^[a-z0-9][a-z0-9_.-]*$/.test(key) && !key.startsWith('grpc-') ? undefined : ''),
  { mayBeEmpty: true },
);

export const methodPath: SettingKind<string> = {
  expected: METHOD,
  isText: true,
  parse: (value) =>
    isFitText(value) && isMethod(value)
      ? acceptSetting(value)
      : complain([], METHOD, value, typeof value === 'string' ? meantMethod(value) : ''),
  write: (value) => value,
};

export const batchedName: SettingKind<string> = {
  expected: BATCHED,
  isText: true,
  parse: (value) =>
    isFitText(value) && /^(?:\/[^/\s*]+\/)?[^/\s*=]+$/.test(value)
      ? acceptSetting(value)
      : complain([], BATCHED, value),
  write: (value) => value,
};

const TENANT_BY = 'connection, address, or metadata: and a key in lower case, such as metadata:x-tenant';

export const tenantBy: SettingKind<TenantBy> = {
  expected: TENANT_BY,
  isText: true,
  parse: (value) =>
    isFitText(value) && /^(?:connection|address|metadata:[0-9a-z_.-]+)$/.test(value)
      ? acceptSetting(value as TenantBy)
      : complain([], TENANT_BY, value),
  write: (value) => value,
};

const USECS = 'microseconds, a whole number from 0 to 86,400,000,000';

/** The unit of YAIS; the parsed value is in milliseconds. */
export const usecs: SettingKind<number> = {
  expected: USECS,
  parse: (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 86_400_000_000
      ? acceptSetting(value / 1000)
      : complain([], USECS, value),
  write: (value) => value * 1000,
};

const PORT_OR_NONE = 'a port from 0 to 65,535, or none';

export const portOrNone: SettingKind<number | 'none'> = {
  expected: PORT_OR_NONE,
  parse(value) {
    if (value === 'none' || value === null) return acceptSetting('none');
    const isPort = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535;
    return isPort ? acceptSetting(value) : complain([], PORT_OR_NONE, value);
  },
  write: (value) => value,
};

/** `path[=batched]`, the form of flags. */
export function splitMethod(text: string): { readonly method: string; readonly batched?: string } {
  const at = text.indexOf('=');
  return at < 0 ? { method: text } : { method: text.slice(0, at), batched: text.slice(at + 1) };
}

/** A list, or a text with commas, the form of flags and variables. */
export function entriesOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string') return [value];
  return value.split(',').map((part) => part.trim());
}

export function complain(
  at: SettingComplaint['at'],
  expected: string,
  came: unknown,
  hint = '',
): SettingVerdict<never> {
  return { complaints: [{ at, message: `expected ${expected}, got ${describeValue(came)}.${hint}` }] };
}

function textList(
  label: string,
  expected: string,
  judge: Judge,
  { mayBeEmpty = false } = {},
): SettingKind<readonly string[]> {
  return {
    expected: label,
    isText: true,
    parse(value) {
      if (mayBeEmpty && value === '') return acceptSetting([]);
      const entries = entriesOf(value);
      if (entries.length === 0 && !mayBeEmpty) return complain([], label, value);
      const complaints = entries.flatMap((entry, i) => {
        const at = Array.isArray(value) ? [i] : [];
        const hint = isFitText(entry) ? judge(entry) : '';
        if (hint !== undefined) return complaintsOf(complain(at, expected, entry, hint));
        return entries.indexOf(entry) < i ? complaintsOf(complain(at, 'each once', entry)) : [];
      });
      return complaints.length > 0 ? { complaints } : acceptSetting(Object.freeze(entries as string[]));
    },
    write: (entries) => entries,
  };
}

function complaintsOf(verdict: SettingVerdict<unknown>): readonly SettingComplaint[] {
  return 'complaints' in verdict ? verdict.complaints : [];
}

function isTarget(target: string): boolean {
  if (/^unix:(?:\/\/)?\/[^\s]+$/.test(target)) return true;
  const port = /^(?:dns:\/\/\/)?(?:\[[0-9a-f:.]+(?:%\w+)?\]|[^\s:/[\]@]+):(\d{1,5})$/i.exec(target)?.[1];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}

function isMethod(path: string): boolean {
  return /^(?:\*|\/[^/\s*=]+)\/[^/\s*=]+$/.test(path);
}

/** Accepts the form of `grpcurl`, and a dot in place of the last slash. */
function meantMethod(text: string): string {
  const slashed = text.startsWith('/') || text.startsWith('*') ? text : `/${text}`;
  const meant = [slashed, slashed.replace(/\.([^./]+)$/, '/$1')].find(isMethod);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}
