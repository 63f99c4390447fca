import { createHmac } from 'node:crypto';
import type { Executor } from '../../platform/db/pool.ts';
import { clientSubnet } from '../../platform/http/client-subnet.ts';

/** Failures within the window (milliseconds) after which sign-in is refused until it ends. */
const windowMs = 15 * 60_000;
/**
 * One address may fail a few times for one account, more often for all accounts together; an account far more often
 * from everywhere,
 * so that who guesses its password does not easily keep out who knows it.
 */
const limits = { pair: 5, address: 30, account: 100 };

/**
 * `untilMs`: when to come back. `begun`: what this very try has locked the account for; null: it was before, or only
 * the address is.
 */
export type Lock = { untilMs: number; begun: 'one address' | 'everybody' | null };

export type Lockout = {
  /** Counts a try of this account from this address, before its password is checked. @returns null: go on */
  charge: (executor: Executor, email: string, address: string, nowMs: number) => Promise<Lock | null>;
  /** Takes the try back, and forgets what failed before for this account from this address: the password was right. */
  forgive: (executor: Executor, email: string, address: string) => Promise<void>;
};

/**
 * Holds across processes and restarts, and for accounts that do not exist as for those that do. Stores keyed hashes, no
 * addresses.
 */
export function createLockout(pepper: string): Lockout {
  const subject = (kind: string, value: string): Buffer =>
    createHmac('sha256', pepper).update(`sign-in\0${kind}\0${value}`).digest();
  const subjectsOf = (email: string, address: string): Record<keyof typeof limits, Buffer> => ({
    pair: subject('account from address', `${email}\0${clientSubnet(address)}`),
    address: subject('address', clientSubnet(address)),
    account: subject('account', email),
  });
  return {
    charge: async (executor, email, address, nowMs) => {
      await executor.query('delete from sign_in_failures where until < $1', [new Date(nowMs)]);
      const subjects = subjectsOf(email, address);
      const { rows } = await executor.query<Over>(
        `with tried as (
          insert into sign_in_failures as f (subject, failures, until)
          select s, 1, $3::timestamptz from unnest($1::bytea[]) as s order by s
          on conflict (subject) do update set failures = f.failures + 1
          returning subject, failures, until
        ) select l.kind, t.failures - l.most as beyond, t.until
          from tried t join unnest($1::bytea[], $2::int[], $4::text[]) as l (subject, most, kind) using (subject) where t.failures > l.most`,
        [Object.values(subjects), Object.values(limits), new Date(nowMs + windowMs), Object.keys(subjects)],
      );
      return rows.length === 0
        ? null
        : { untilMs: Math.max(...rows.map(({ until }) => until.getTime())), begun: begunBy(rows) };
    },
    forgive: async (executor, email, address) => {
      const { pair, ...others } = subjectsOf(email, address);
      await executor.query('delete from sign_in_failures where subject = $1', [pair]);
      await executor.query(
        `update sign_in_failures set failures = failures - 1 where subject in (
          select subject from sign_in_failures where subject = any($1::bytea[]) and failures > 0 order by subject for update)`,
        [Object.values(others)],
      );
    },
  };
}

type Over = { kind: keyof typeof limits; beyond: number; until: Date };

/** An account that is locked for everybody is not locked for an address as well. */
function begunBy(rows: readonly Over[]): Lock['begun'] {
  const beyond = (kind: Over['kind']): number => rows.find((row) => row.kind === kind)?.beyond ?? 0;
  if (beyond('account') > 0) return beyond('account') === 1 ? 'everybody' : null;
  return beyond('pair') === 1 ? 'one address' : null;
}
