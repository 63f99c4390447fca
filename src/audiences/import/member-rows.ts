import type { FileCounter } from '../../platform/files/counter.ts';
import type { Layout } from '../../platform/files/layout.ts';
import type { FileFormat } from '../../platform/files/names.ts';
import type { FileRow } from '../../platform/files/open.ts';
import { cleanValue, shownValue } from '../../platform/files/values.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { emailHashOf, emailKeys } from '../profile-keys.ts';
import { refusalOfId } from '../user-ids.ts';

/** Member parsed from a file row. */
export type MemberRow = { userKey: string; expiresAtMs: number | null };

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

/**
 * Creates a reader that converts file rows to members and counts the rows.
 * @returns null for a row without a user; the counter records the reason
 */
export function createMemberReader({ layout, counter, userKeys, publisherId, nowMs }: Reading) {
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
      return { userKey: emailKeys(userKeys, publisherId, hash)[0] as string, expiresAtMs };
    }
    const { id, refusal } = refusalOfId(user.value);
    if (refusal !== null) return { problem: problem('idProblem', { problem: refusal.message }) };
    return { userKey: userKeys.of(publisherId, id), expiresAtMs };
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
