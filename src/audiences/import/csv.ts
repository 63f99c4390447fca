import { timeOf } from '../../platform/lib/time-zone.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { emailHashOf, emailKeys } from '../profile-keys.ts';
import { refusalOfId } from '../user-ids.ts';

/** A member as a row of a file names it, or why it names none. */
export type ImportRow = { userKey: string; expiresAtMs: number | null } | { problem: string };

type Column = 'id' | 'email' | 'expires_at' | null;

/** Names of columns in the first line, as systems export them. */
const columnNames: Readonly<Record<string, Column>> = {
  id: 'id',
  pub_user_id: 'id',
  user_id: 'id',
  sha256_email: 'email',
  sha256_emails: 'email',
  email_sha256: 'email',
  expires_at: 'expires_at',
};

/** Longest line (characters); longer ones name nobody. */
const maxLine = 2000;

/** The cells of a line: separated by commas, or by semicolons where there is no comma; quotes may stand around one. */
function cellsOf(line: string): string[] {
  const separator = line.includes(',') || !line.includes(';') ? ',' : ';';
  if (!line.includes('"')) return line.split(separator);
  const cells: string[] = [];
  const pattern =
    separator === ',' ? /"((?:[^"]|"")*)"(?:,|$)|([^,]*)(?:,|$)/gy : /"((?:[^"]|"")*)"(?:;|$)|([^;]*)(?:;|$)/gy;
  for (const [whole, quoted, plain] of line.matchAll(pattern)) {
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (!whole.endsWith(separator)) break;
  }
  return cells;
}

type Reading = { userKeys: UserKeys; publisherId: number; nowMs: number };

/**
 * Reads the lines of a file. A first line that names columns says which one has the user's id, or the SHA-256 of an
 * e-mail address, and which the end of the membership; without one, the first column has ids.
 * @returns null: the line holds no row
 */
export function createRowReader({ userKeys, publisherId, nowMs }: Reading): (line: string) => ImportRow | null {
  let columns: readonly Column[] | null = null;
  const isUser = (column: Column): boolean => column === 'id' || column === 'email';

  function readMember(cells: readonly string[], names: readonly Column[]): ImportRow {
    const at = names.findIndex(isUser);
    const user = (cells[at] ?? '').trim();
    const end = (cells[names.indexOf('expires_at')] ?? '').trim();
    const expiresAtMs = end === '' ? null : timeOf(end);
    if (expiresAtMs !== null && !(expiresAtMs > nowMs)) return { problem: 'expires_at must be a time in the future' };
    if (names[at] === 'id') {
      const { id, problem } = refusalOfId(user);
      if (problem !== null) return { problem: `the id ${problem.message}` };
      return { userKey: userKeys.of(publisherId, id), expiresAtMs };
    }
    const hash = emailHashOf(user);
    if (hash === null) return { problem: 'the hash must have 64 hex digits' };
    return { userKey: emailKeys(userKeys, publisherId, hash)[0] as string, expiresAtMs };
  }

  return (line) => {
    if (line.trim() === '') return null;
    if (line.length > maxLine) return { problem: `must have at most ${maxLine} characters` };
    const cells = cellsOf(line);
    if (columns === null) {
      const named = cells.map((cell) => columnNames[cell.trim().toLowerCase()] ?? null);
      if (named.some(isUser)) {
        columns = named;
        return null;
      }
      columns = ['id'];
    }
    return readMember(cells, columns);
  };
}

/** The lines of a stream of bytes, without their ends; a byte order mark is no part of the first. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string[], void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? '';
    // A line without an end is not kept whole; its reader refuses it.
    if (rest.length > 2 * maxLine) rest = rest.slice(0, 2 * maxLine);
    if (lines.length > 0) yield lines;
  }
  yield [rest + decoder.decode()];
}
