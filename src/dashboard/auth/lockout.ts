import { createHmac } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Executor } from '../../db/pool.ts';

/** Failures within the window (milliseconds) after which sign-in is refused until it ends. */
const windowMs = 15 * 60_000;
const limits = { account: 5, address: 30 };

export type Lockout = {
  /** Counts a try of this account from this address, before its password is checked. @returns when to come back, epoch ms; null: go on */
  charge: (executor: Executor, email: string, address: string, nowMs: number) => Promise<number | null>;
  /** Takes the try back, and forgets the account's failures: the password was right. */
  forgive: (executor: Executor, email: string, address: string) => Promise<void>;
};

/** Holds across processes and restarts, and for accounts that do not exist as for those that do. Stores keyed hashes, no addresses. */
export function createLockout(pepper: string): Lockout {
  const subject = (kind: string, value: string): Buffer => createHmac('sha256', pepper).update(`sign-in\0${kind}\0${value}`).digest();
  const subjectsOf = (email: string, address: string): Buffer[] => [subject('account', email), subject('address', netOf(address))];
  return {
    charge: async (executor, email, address, nowMs) => {
      await executor.query('delete from sign_in_failures where until < $1', [new Date(nowMs)]);
      const { rows } = await executor.query<{ until: Date }>(
        `with tried as (
          insert into sign_in_failures as f (subject, failures, until)
          select s, 1, $3::timestamptz from unnest($1::bytea[]) as s order by s
          on conflict (subject) do update set failures = f.failures + 1
          returning subject, failures, until
        ) select t.until from tried t join unnest($1::bytea[], $2::int[]) as l (subject, most) using (subject) where t.failures > l.most`,
        [subjectsOf(email, address), [limits.account, limits.address], new Date(nowMs + windowMs)],
      );
      return rows.length === 0 ? null : Math.max(...rows.map((row) => row.until.getTime()));
    },
    forgive: async (executor, email, address) => {
      const [account, net] = subjectsOf(email, address);
      await executor.query('delete from sign_in_failures where subject = $1', [account]);
      await executor.query('update sign_in_failures set failures = failures - 1 where subject = $1 and failures > 0', [net]);
    },
  };
}

/** One customer of a provider holds a whole /64. */
function netOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join(':') : parsed.toString();
}
