import type pg from 'pg';
import type { Config } from '../../config.ts';
import { transaction } from '../../platform/db/pool.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { findByEmail, parseEmail } from '../users.ts';
import { auditAccount, resetLabel, systemActor } from './account-audit.ts';
import { resetMail, sendMail } from './account-mails.ts';
import { createLockout } from './lockout.ts';
import { createPasswordReset } from './one-time-links.ts';

type ResetDeps = { pool: pg.Pool; config: Config; logger: Logger; now: () => number };

/**
 * Sends a password reset link to the user with the given e-mail address, if there is one. The result and the response
 * time do not reveal whether the user exists, because the e-mail is sent after the response.
 * @returns null if accepted, or the minutes until the next attempt if there were too many requests
 */
export type RequestReset = (email: string, address: string) => Promise<{ lockedMinutes: number } | null>;

export function createPasswordResets(deps: ResetDeps, mailer: Mailer): RequestReset {
  const { pool, config, logger, now } = deps;
  const lockout = createLockout(config.userPepper, 'password-reset');
  return async (text, address) => {
    const email = parseEmail(text);
    if (email === null) return null;
    const nowMs = now();
    const lock = await lockout.recordAttempt(pool, email, address, nowMs);
    if (lock !== null) return { lockedMinutes: Math.max(1, Math.ceil((lock.untilMs - nowMs) / minuteMs)) };
    mailReset(deps, mailer, email).catch((err) => logger.error({ err }, 'password reset failed'));
    return null;
  };
}

async function mailReset(deps: ResetDeps, mailer: Mailer, email: string): Promise<void> {
  const { pool, config, now } = deps;
  const user = (await findByEmail(pool, email))?.user;
  if (user === undefined || user.disabled || !user.hasJoined || user.isLinked) return;
  const token = await transaction(pool, async (executor) => {
    const actor = systemActor(resetLabel, user.publisherId);
    const change = { actor, user, action: 'update', nowMs: now() } as const;
    await auditAccount(executor, change, null, { password_link: 'mailed' });
    return createPasswordReset(executor, user.id, now());
  });
  const mail = resetMail({ email: user.email, token, publicUrl: config.publicUrl }, user.language);
  await sendMail(deps, mailer, mail);
}
