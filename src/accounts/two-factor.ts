import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Executor } from '../platform/db/pool.ts';
import { hashToken } from '../platform/security/random-token.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { MemberRole } from '../shell/context.ts';

/**
 * Validity period of a code, in seconds. Codes follow RFC 6238 with six digits and SHA-1, which every authenticator app
 * supports.
 */
const periodS = 30;
/** Number of accepted codes before and after the current one, to allow for clock differences. */
const window = 1;
const secretBytes = 20;

const recoveryCodeCount = 10;
const recoveryCodeBytes = 10;

const issuer = 'Perkwire';

/** Returns whether the setting requires a second factor for users with this role. */
export const isTwoFactorRequired = (
  { requireTwoFactor }: { requireTwoFactor: 'none' | 'operators' | 'all' },
  { role }: { role: MemberRole },
) => requireTwoFactor === 'all' || (requireTwoFactor === 'operators' && role === 'operator');

/**
 * Creates a secret.
 * @returns the secret in base32
 */
export const createSecret = (): string => new Secret({ size: secretBytes }).base32;

const totpOf = (secret: string, label = ''): TOTP =>
  new TOTP({ issuer, label, secret: Secret.fromBase32(secret), period: periodS });

/** Returns the URI that an authenticator app reads from a QR code. */
export const keyUri = (secret: string, email: string): string => totpOf(secret, email).toString();

/** Returns the time step for which a code is valid. Returns null if the code is wrong or too old. */
export function stepOf(secret: string, code: string, nowMs: number): number | null {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return null;
  const delta = totpOf(secret).validate({ token, timestamp: nowMs, window });
  return delta === null ? null : Math.floor(nowMs / 1000 / periodS) + delta;
}

/** Returns the encryption context that binds a sealed secret to its user. */
const contextOf = (userId: number): string => `totp-secret:${userId}`;

export const sealedTwoFactor = sealedColumn({
  table: 'users',
  column: 'totp_sealed',
  key: ['id'],
  context: ([userId]) => contextOf(Number(userId)),
});

/**
 * Enables the second factor. `step` is the time step of the code with which the user confirmed the secret. That code is
 * not accepted again.
 */
export async function saveTwoFactor(
  executor: Executor,
  box: SecretBox,
  { userId, secret, step }: { userId: number; secret: string; step: number },
): Promise<void> {
  await executor.query('update users set totp_sealed = $2, totp_last_step = $3 where id = $1', [
    userId,
    box.seal(secret, contextOf(userId)),
    step,
  ]);
}

/** Removes a user's authenticator app, passkeys and recovery codes. */
export async function removeTwoFactor(executor: Executor, userId: number): Promise<void> {
  await executor.query('delete from user_passkeys where user_id = $1', [userId]);
  await removeAuthenticatorApp(executor, userId);
}

/** Removes the authenticator app. If the user still has a passkey, the recovery codes are retained. */
export async function removeAuthenticatorApp(executor: Executor, userId: number): Promise<void> {
  await executor.query('update users set totp_sealed = null, totp_last_step = null where id = $1', [userId]);
  await dropUnusedCodes(executor, userId);
}

/** Removes a user's recovery codes if no second factor is left. */
export async function dropUnusedCodes(executor: Executor, userId: number): Promise<void> {
  await executor.query(
    `delete from user_recovery_codes where user_id = $1
      and not exists (select from users where id = $1 and totp_sealed is not null)
      and not exists (select from user_passkeys where user_id = $1)`,
    [userId],
  );
}

/**
 * Verifies an authenticator app code or a recovery code. Each code works only once, even with concurrent attempts.
 * @returns the accepted method, or null if the code is invalid
 */
export async function acceptCode(
  executor: Executor,
  box: SecretBox,
  { userId, code, nowMs }: { userId: number; code: string; nowMs: number },
): Promise<'app' | 'recovery code' | null> {
  const { rows } = await executor.query<{ totp_sealed: Buffer }>(
    'select totp_sealed from users where id = $1 and totp_sealed is not null',
    [userId],
  );
  const secret = rows[0] === undefined ? null : box.open(rows[0].totp_sealed, contextOf(userId));
  const step = secret === null ? null : stepOf(secret, code, nowMs);
  if (step === null) return (await acceptRecoveryCode(executor, userId, code)) ? 'recovery code' : null;
  const { rowCount } = await executor.query(
    'update users set totp_last_step = $2 where id = $1 and totp_last_step < $2',
    [userId, step],
  );
  return rowCount === 1 ? 'app' : null;
}

async function acceptRecoveryCode(executor: Executor, userId: number, code: string): Promise<boolean> {
  const { rowCount } = await executor.query('delete from user_recovery_codes where user_id = $1 and code_hash = $2', [
    userId,
    hashToken(normalise(code)),
  ]);
  return rowCount === 1;
}

/** Normalises a code. Codes may be entered in upper or lower case, and with or without hyphens. */
const normalise = (code: string): string => code.toUpperCase().replaceAll(/[\s-]/g, '');

/**
 * Replaces a user's recovery codes.
 * @returns the new codes; only their hashes are stored
 */
export async function replaceRecoveryCodes(executor: Executor, userId: number): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, createRecoveryCode);
  await executor.query('delete from user_recovery_codes where user_id = $1', [userId]);
  await executor.query('insert into user_recovery_codes (user_id, code_hash) select $1, unnest($2::bytea[])', [
    userId,
    codes.map((code) => hashToken(normalise(code))),
  ]);
  return codes;
}

/** Creates a code such as ABCD-EFGH-IJKL-MNOP: 80 bits in base32. */
const createRecoveryCode = (): string =>
  (new Secret({ buffer: Uint8Array.from(randomBytes(recoveryCodeBytes)).buffer }).base32.match(/.{4}/g) ?? []).join(
    '-',
  );

/** Returns the number of recovery codes that a user has left. */
export async function countRecoveryCodes(executor: Executor, userId: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    'select count(*)::int as count from user_recovery_codes where user_id = $1',
    [userId],
  );
  return rows[0]?.count ?? 0;
}
