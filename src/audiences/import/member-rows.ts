import type { FileCounter } from '../../platform/files/counter.ts';
import type { Layout } from '../../platform/files/layout.ts';
import type { FileFormat } from '../../platform/files/names.ts';
import type { FileRow } from '../../platform/files/open.ts';
import { createValueSet } from '../../platform/files/value-set.ts';
import { cleanValue, shownValue } from '../../platform/files/values.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { emailHashOf, emailIdentifier } from '../profile-keys.ts';
import { refusalOfId } from '../user-ids.ts';

/** Member parsed from a file row. The user key is derived from `identifier`. */
type MemberRow = { identifier: string; expiresAtMs: number | null };

/** Members to store: their user keys, 16 bytes each, and their expiry times in epoch milliseconds. */
export type MemberBatch = { keys: Buffer; expiryMs: readonly (number | null)[] };

type Role = 'id' | 'sha256_email' | 'expires_at';

/** Columns of a member file, with the names that exporting systems use for them (docs/reading-input.md#columns). */
export const memberFile: FileFormat<Role> = {
  columns: {
    id: [
      ...['pub_user_id', 'user_id', 'uid', 'customer_id', 'client_id', 'member_id', 'account_id', 'subscriber_id'],
      ...['contact_id', 'profile_id', 'external_id', 'Kundennummer', 'Kunden-ID', 'Kunden-Nr.', 'Nutzer-ID'],
      ...['Benutzer-ID', 'Mitgliedsnummer', 'Mitglieds-ID'],
    ],
    sha256_email: ['sha256_emails', 'email_sha256', 'hashed_email', 'email_hash', 'E-Mail-Hash'],
    expires_at: ['expires', 'expiry', 'expiry_date', 'expiration_date', 'valid_until', 'Gültig bis', 'Ablaufdatum'],
  },
  identifiers: ['id', 'sha256_email'],
  patterns: { sha256_email: /^[0-9a-f]{64}$/i },
};

type Reading = { layout: Layout; counter: FileCounter; userKeys: UserKeys; publisherId: number; nowMs: number };

/** Reads the members of a file row by row, and collects them in batches. */
export type MemberReader = {
  /** Reads a row. The counter records why a row contains no valid user. */
  add: (row: FileRow) => void;
  /** Returns the number of members since the last call of `take`. */
  count: () => number;
  /** Returns the members since the last call. */
  take: () => MemberBatch;
};

/** Number of members for which a batch initially has space. */
const initialMembers = 1024;

/** Creates a reader that counts rows and duplicate users. */
export function createMemberReader(reading: Reading): MemberReader {
  const { counter, userKeys, publisherId } = reading;
  const read = createRowReader(reading);
  const users = createValueSet();
  let keys: Buffer = Buffer.alloc(16 * initialMembers);
  let expiryMs: (number | null)[] = [];
  return {
    add: (row) => {
      const member = read(row);
      if (member === null) return;
      const at = 16 * expiryMs.length;
      if (at === keys.length) keys = Buffer.concat([keys], 2 * at);
      userKeys.write(publisherId, member.identifier, keys, at);
      expiryMs.push(member.expiresAtMs);
      if (!users.add(keys, at, at + 16)) counter.addDuplicate();
    },
    count: () => expiryMs.length,
    take: () => {
      const batch = { keys: keys.subarray(0, 16 * expiryMs.length), expiryMs };
      keys = Buffer.alloc(keys.length);
      expiryMs = [];
      return batch;
    },
  };
}

/**
 * Creates a function that converts a file row to a member and counts it.
 * @returns null for a row without a user; the counter records the reason
 */
function createRowReader({ layout, counter, nowMs }: Reading) {
  const { columns } = layout;
  const userAt = columns.findIndex(({ role }) => role === 'id' || role === 'sha256_email');
  const endAt = columns.findIndex(({ role }) => role === 'expires_at');
  const isHash = columns[userAt]?.role === 'sha256_email';
  const name = isHash ? 'sha256_email' : 'id';

  function readRow(cells: readonly string[]): MemberRow | { problem: Problem } {
    const user = cleanValue(cells[userAt] ?? '');
    if ('problem' in user) return { problem: problem(isHash ? 'hashProblem' : 'idProblem', { problem: user.problem }) };
    const end = (cells[endAt] ?? '').trim();
    const expiresAtMs = end === '' ? null : timeOf(end);
    if (expiresAtMs !== null && !(expiresAtMs > nowMs)) return { problem: problem('endInFuture') };
    counter.addArtefact(user.artefact);
    if (isHash) {
      const hash = emailHashOf(user.value);
      if (hash === null) return { problem: problem('hexDigits') };
      return { identifier: emailIdentifier(hash), expiresAtMs };
    }
    const { id, refusal } = refusalOfId(user.value);
    if (refusal !== null) return { problem: problem('idProblem', { problem: refusal.message }) };
    return { identifier: id, expiresAtMs };
  }

  return (row: FileRow): MemberRow | null => {
    const values = (): Record<string, string> => ({
      [name]: shownValue(row.cells[userAt] ?? ''),
      ...(endAt >= 0 && { expires_at: row.cells[endAt] ?? '' }),
    });
    const member = row.problem === null ? readRow(row.cells) : { problem: row.problem };
    if ('problem' in member) {
      counter.refuse(row, { message: member.problem }, values);
      return null;
    }
    counter.accept(row, values);
    return member;
  };
}
