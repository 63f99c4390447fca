import type pg from 'pg';
import type { Config } from '../../config.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import { findByEmail } from '../users.ts';
import { auditAccount, signInLabel, systemActor } from './account-audit.ts';
import { createLockout, type Lock, type Purpose } from './lockout.ts';

export type AttemptDeps = { pool: pg.Pool; config: Config; logger: Logger; now: () => number };

export type Locked = { ok: false; reason: 'locked'; minutes: number };

/** Limits guessing attempts, and records lockouts in the audit log. */
export type Attempts = {
  /**
   * Counts an attempt as failed before the credentials are checked. A success is recorded afterwards with `succeed`.
   * @returns null if the check may proceed
   */
  begin: (email: string, address: string) => Promise<Locked | null>;
  /** Records a success. This clears the account's failures from the same address, including the current attempt. */
  succeed: (email: string, address: string) => Promise<void>;
};

export function createAttempts(deps: AttemptDeps, purpose: Purpose): Attempts {
  const { pool, config, logger, now } = deps;
  const lockout = createLockout(config.userPepper, purpose);
  return {
    begin: async (email, address) => {
      const nowMs = now();
      const lock = await lockout.recordAttempt(pool, email, address, nowMs);
      if (lock === null) return null;
      // Do not await this, because the response time must not reveal whether the account exists.
      if (lock.startedFor !== null)
        auditLock(deps, email, lock.startedFor).catch((err) =>
          logger.warn({ err }, 'lockout not written to audit log'),
        );
      return { ok: false, reason: 'locked', minutes: Math.max(1, Math.ceil((lock.untilMs - nowMs) / minuteMs)) };
    },
    succeed: (email, address) => lockout.recordSuccess(pool, email, address),
  };
}

async function auditLock(
  { pool, now }: AttemptDeps,
  email: string,
  lockedFor: NonNullable<Lock['startedFor']>,
): Promise<void> {
  const credentials = await findByEmail(pool, email);
  if (credentials === null) return;
  const actor = systemActor(signInLabel, credentials.user.publisherId);
  const change = { actor, user: credentials.user, action: 'lock', nowMs: now() } as const;
  await auditAccount(pool, change, null, { locked_for: lockedFor });
}
