import { createHmac } from 'node:crypto';
import type { Executor } from '../../platform/db/pool.ts';
import { clientSubnet } from '../../platform/http/failure-limit.ts';
import { minuteMs } from '../../platform/lib/time.ts';

/** Window in which failures are counted and sign-in is refused (milliseconds). */
export const lockoutWindowMs = 15 * minuteMs;

/**
 * Maximum number of failed sign-ins within the window: for one account from one address, for all accounts from one
 * address, and for one account from all addresses. The last limit is high, so that an attacker cannot easily lock out
 * the owner of an account.
 */
export const maxFailures = { pair: 5, address: 30, account: 100 };

/**
 * Limits for codes of the second factor, for which the correct password was given. At most ten guesses in 15 minutes,
 * with three valid codes in a million, succeed with 0.3 % a day, and each lock is logged in the audit log.
 */
const maxCodeFailures: typeof maxFailures = { pair: 5, address: 30, account: 10 };

/**
 * A lockout. `startedFor` is the scope that this attempt has locked; null if the account was locked before, or only the
 * address is locked.
 */
export type Lock = { untilMs: number; startedFor: 'one address' | 'all addresses' | null };

export type Lockout = {
  /**
   * Counts an attempt as failed before its password is checked.
   * @returns null to proceed
   */
  recordAttempt: (executor: Executor, email: string, address: string, nowMs: number) => Promise<Lock | null>;
  /** Resets the attempt and the earlier failures of this account from this address after a correct password. */
  recordSuccess: (executor: Executor, email: string, address: string) => Promise<void>;
};

type Subjects = Record<keyof typeof maxFailures, Buffer>;

/** Limits for e-mails with a password link, each of which reaches a user. */
const maxResets: typeof maxFailures = { pair: 3, address: 20, account: 5 };

/** Purpose of a limit; each purpose has its own counts. */
export type Purpose = 'sign-in' | 'code' | 'password-reset';

const limitsOf: Record<Purpose, typeof maxFailures> = {
  'sign-in': maxFailures,
  code: maxCodeFailures,
  'password-reset': maxResets,
};

/**
 * Creates a lockout. It is shared by all processes, and the same for unknown accounts. It stores keyed hashes instead
 * of addresses.
 */
export function createLockout(pepper: string, purpose: Purpose = 'sign-in'): Lockout {
  const limits = limitsOf[purpose];
  const subject = (kind: string, value: string): Buffer =>
    createHmac('sha256', pepper).update(`${purpose}\0${kind}\0${value}`).digest();
  const subjectsOf = (email: string, address: string): Subjects => ({
    pair: subject('account from address', `${email}\0${clientSubnet(address)}`),
    address: subject('address', clientSubnet(address)),
    account: subject('account', email),
  });
  return {
    recordAttempt: (executor, email, address, nowMs) =>
      countFailure(executor, subjectsOf(email, address), limits, nowMs),
    recordSuccess: (executor, email, address) => uncountFailure(executor, subjectsOf(email, address)),
  };
}

type Exceeded = { kind: keyof typeof maxFailures; excess: number; until: Date };

async function countFailure(
  executor: Executor,
  subjects: Subjects,
  limits: typeof maxFailures,
  nowMs: number,
): Promise<Lock | null> {
  await executor.query('delete from sign_in_failures where until < $1', [new Date(nowMs)]);
  const { rows } = await executor.query<Exceeded>(
    `with attempted as (
      insert into sign_in_failures as f (subject, failures, until)
      select s, 1, $3::timestamptz from unnest($1::bytea[]) as s order by s
      on conflict (subject) do update set failures = f.failures + 1
      returning subject, failures, until
    )
    select l.kind, a.failures - l.max_failures as excess, a.until
    from attempted a
    join unnest($1::bytea[], $2::int[], $4::text[]) as l (subject, max_failures, kind) using (subject)
    where a.failures > l.max_failures`,
    [Object.values(subjects), Object.values(limits), new Date(nowMs + lockoutWindowMs), Object.keys(subjects)],
  );
  if (rows.length === 0) return null;
  return { untilMs: Math.max(...rows.map(({ until }) => until.getTime())), startedFor: startedFor(rows) };
}

async function uncountFailure(executor: Executor, { pair, ...others }: Subjects): Promise<void> {
  await executor.query('delete from sign_in_failures where subject = $1', [pair]);
  await executor.query(
    `update sign_in_failures set failures = failures - 1 where subject in (
      select subject from sign_in_failures
      where subject = any($1::bytea[]) and failures > 0
      order by subject for update
    )`,
    [Object.values(others)],
  );
}

/** An account that is locked for all addresses is not reported again for a single address. */
function startedFor(rows: readonly Exceeded[]): Lock['startedFor'] {
  const excess = (kind: Exceeded['kind']): number => rows.find((row) => row.kind === kind)?.excess ?? 0;
  if (excess('account') > 0) return excess('account') === 1 ? 'all addresses' : null;
  return excess('pair') === 1 ? 'one address' : null;
}
