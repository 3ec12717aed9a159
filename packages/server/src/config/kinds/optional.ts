import { accept, type Kind } from '../setting-kind.js';

/** `null`, `~` or nothing says that there is none. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    ...kind,
    expected: `${kind.expected}, or null for none`,
    parse(value, context) {
      if (value === null) return accept(undefined);
      const verdict = kind.parse(value, context);
      if ('value' in verdict) return verdict;
      const complaints = verdict.complaints.map((complaint) => ({
        ...complaint,
        message: complaint.message.replace(kind.expected, this.expected),
      }));
      return { complaints };
    },
    write: (value) => (value === undefined ? null : kind.write(value)),
  };
}
