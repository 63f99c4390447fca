import { createHmac } from 'node:crypto';
import type { Executor } from '../../platform/db/pool.ts';
import { clientSubnet } from '../../platform/http/failure-limit.ts';
import { minuteMs } from '../../platform/lib/time.ts';

/** Time window in which failed attempts are counted and sign-in is refused, in milliseconds. */
export const lockoutWindowMs = 15 * minuteMs;

/**
 * Maximum number of failed sign-ins per window: `pair` for one account from one address, `address` for all accounts
 * from one address, and `account` for one account from all addresses. The last limit is high, so that an attacker
 * cannot easily lock the owner out of an account.
 */
export const maxFailures = { pair: 5, address: 30, account: 100 };

/**
 * Limits for second-factor codes, which are entered after the correct password. Three codes in a million are valid at
 * any time, so guessing ten times per 15 minutes succeeds with a probability of 0.3% per day. Every lockout is
 * recorded in the audit log.
 */
const maxCodeFailures: typeof maxFailures = { pair: 5, address: 30, account: 10 };

/**
 * Lockout. `startedFor` is the scope that this attempt caused to be locked. It is null if the account was already
 * locked, or if only the address is locked.
 */
export type Lock = { untilMs: number; startedFor: 'one address' | 'all addresses' | null };

export type Lockout = {
  /**
   * Counts an attempt as failed before its password is checked. A success is recorded afterwards with `recordSuccess`.
   * @returns null if the check may proceed
   */
  recordAttempt: (executor: Executor, email: string, address: string, nowMs: number) => Promise<Lock | null>;
  /** Clears the account's failures from the same address, including the current attempt, after a correct password. */
  recordSuccess: (executor: Executor, email: string, address: string) => Promise<void>;
};

type Subjects = Record<keyof typeof maxFailures, Buffer>;

/** Limits for password reset e-mails. They are low because each e-mail is received by a user. */
const maxResets: typeof maxFailures = { pair: 3, address: 20, account: 5 };

/** Purpose of a limit. Failures are counted separately for each purpose. */
export type Purpose = 'sign-in' | 'code' | 'password-reset';

const limitsOf: Record<Purpose, typeof maxFailures> = {
  'sign-in': maxFailures,
  code: maxCodeFailures,
  'password-reset': maxResets,
};

/**
 * Creates a lockout that is shared by all processes. It treats unknown accounts like existing ones, and stores keyed
 * hashes instead of addresses.
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

/** Do not report a lock for one address if the account is already locked for all addresses. */
function startedFor(rows: readonly Exceeded[]): Lock['startedFor'] {
  const excess = (kind: Exceeded['kind']): number => rows.find((row) => row.kind === kind)?.excess ?? 0;
  if (excess('account') > 0) return excess('account') === 1 ? 'all addresses' : null;
  return excess('pair') === 1 ? 'one address' : null;
}
