import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Executor } from '../platform/db/pool.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { User } from '../shell/context.ts';

/** Loads the library on first use, because loading it takes about 0.5 s of CPU time. */
const webauthn = () => import('@simplewebauthn/server');

/** Maximum age of a challenge at the time when the device's response arrives, in milliseconds. */
const challengeLifetimeMs = 15 * minuteMs;

/** Maximum number of passkeys per user. */
export const maxPasskeys = 20;

/**
 * Purpose of a challenge. A response is only accepted for the purpose that its challenge was created for. `sign-in`
 * challenges work for any user.
 */
type Purpose = 'sign-in' | `code:${number}` | `add:${number}`;

type Deps = { secretBox: SecretBox; config: { publicUrl: string }; now: () => number };

/**
 * Passkey challenge for a form. `options` are passed to the browser's WebAuthn call. `sealed` is the encrypted
 * challenge, which the form submits with the response.
 */
export type Ceremony = { options: string; sealed: string };

const rpIdOf = ({ config }: Deps): string => new URL(config.publicUrl).hostname;

const contextOf = (purpose: Purpose): string => `passkey:${purpose}`;

function seal({ secretBox, now }: Deps, purpose: Purpose, options: { challenge: string }): Ceremony {
  const challenge = JSON.stringify({ challenge: options.challenge, madeMs: now() });
  return {
    options: JSON.stringify(options),
    sealed: secretBox.seal(challenge, contextOf(purpose)).toString('base64url'),
  };
}

type Challenge = { challenge: string; madeMs: number };

/**
 * Opens a sealed challenge. Returns null if the challenge was altered, was created for another purpose or is too old.
 */
function open({ secretBox, now }: Deps, purpose: Purpose, sealed: string): Challenge | null {
  try {
    const challenge = JSON.parse(secretBox.open(Buffer.from(sealed, 'base64url'), contextOf(purpose))) as Challenge;
    return challenge.madeMs > now() - challengeLifetimeMs ? challenge : null;
  } catch {
    return null;
  }
}

export type Passkey = { id: number; name: string; createdAt: Date; lastUsedAt: Date | null };

/** Lists a user's passkeys, oldest first. */
export async function listPasskeys(executor: Executor, userId: number): Promise<Passkey[]> {
  const { rows } = await executor.query<Passkey>(
    `select id, name, created_at as "createdAt", last_used_at as "lastUsedAt" from user_passkeys
    where user_id = $1 order by id`,
    [userId],
  );
  return rows;
}

type Descriptor = { id: string; transports: AuthenticatorTransport[] };

async function descriptorsOf(executor: Executor, userId: number): Promise<Descriptor[]> {
  const { rows } = await executor.query<{ credential_id: Buffer; transports: AuthenticatorTransport[] }>(
    'select credential_id, transports from user_passkeys where user_id = $1 order by id',
    [userId],
  );
  return rows.map(({ credential_id, transports }) => ({ id: credential_id.toString('base64url'), transports }));
}

/**
 * Starts adding a passkey. The device must verify the user and create a passkey that can sign in without a password.
 */
export async function beginAdding(deps: Deps, executor: Executor, { id, email }: User): Promise<Ceremony> {
  const options = await (await webauthn()).generateRegistrationOptions({
    rpName: 'Perkwire',
    rpID: rpIdOf(deps),
    userName: email,
    userID: Uint8Array.from(Buffer.from(`perkwire-user-${id}`)),
    attestationType: 'none',
    excludeCredentials: await descriptorsOf(executor, id),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return seal(deps, `add:${id}`, options);
}

type DeviceResponse = { sealed: string; response: string };

/**
 * Stores a passkey that a device has created.
 * @returns false if the response is invalid or the user has too many passkeys
 */
export async function addPasskey(
  deps: Deps,
  executor: Executor,
  { userId, name, sealed, response }: DeviceResponse & { userId: number; name: string },
): Promise<boolean> {
  const challenge = open(deps, `add:${userId}`, sealed);
  const answer = parseAnswer<RegistrationResponseJSON>(response);
  if (challenge === null || answer === null) return false;
  const verified = await (await webauthn())
    .verifyRegistrationResponse({
      response: answer,
      expectedChallenge: challenge.challenge,
      expectedOrigin: deps.config.publicUrl,
      expectedRPID: rpIdOf(deps),
    })
    .catch(() => null);
  if (verified === null || !verified.verified) return false;
  const { credential } = verified.registrationInfo;
  const { rowCount } = await executor.query(
    `insert into user_passkeys (user_id, credential_id, public_key, counter, transports, name, created_at)
    select $1, $2, $3, $4, $5, $6, $7 where (select count(*) from user_passkeys where user_id = $1) < ${maxPasskeys}
    on conflict do nothing`,
    [
      userId,
      Buffer.from(credential.id, 'base64url'),
      Buffer.from(credential.publicKey),
      credential.counter,
      credential.transports ?? [],
      name,
      new Date(deps.now()),
    ],
  );
  return rowCount === 1;
}

/**
 * Removes one of a user's passkeys.
 * @returns its name, or null if the user has no passkey with this ID
 */
export async function removePasskey(executor: Executor, userId: number, id: number): Promise<string | null> {
  const { rows } = await executor.query<{ name: string }>(
    'delete from user_passkeys where user_id = $1 and id = $2 returning name',
    [userId, id],
  );
  return rows[0]?.name ?? null;
}

/** Starts a sign-in with a passkey, before the user is known. */
export async function beginSignIn(deps: Deps): Promise<Ceremony> {
  const options = await (await webauthn()).generateAuthenticationOptions({
    rpID: rpIdOf(deps),
    userVerification: 'required',
  });
  return seal(deps, 'sign-in', options);
}

/** Starts the second step of a sign-in. Returns null if the user has no passkey. */
export async function beginSecondFactor(deps: Deps, executor: Executor, userId: number): Promise<Ceremony | null> {
  const allowCredentials = await descriptorsOf(executor, userId);
  if (allowCredentials.length === 0) return null;
  const options = await (await webauthn()).generateAuthenticationOptions({
    rpID: rpIdOf(deps),
    allowCredentials,
    userVerification: 'required',
  });
  return seal(deps, `code:${userId}`, options);
}

type Stored = {
  id: number;
  user_id: number;
  credential_id: Buffer;
  public_key: Buffer;
  counter: string;
  transports: AuthenticatorTransport[];
};

/**
 * Verifies a device's response to a challenge. Each challenge can be used once.
 * @param userId user in the second sign-in step, or null for a sign-in with only a passkey
 * @returns the user of the passkey; null if the passkey is unknown, the origin is wrong or the challenge was already
 * used
 */
export async function acceptPasskey(
  deps: Deps,
  executor: Executor,
  { userId, sealed, response }: DeviceResponse & { userId: number | null },
): Promise<number | null> {
  const challenge = open(deps, userId === null ? 'sign-in' : `code:${userId}`, sealed);
  const answer = parseAnswer<AuthenticationResponseJSON>(response);
  if (challenge === null || answer === null) return null;
  const { rows } = await executor.query<Stored>(
    `select id, user_id, credential_id, public_key, counter, transports from user_passkeys
    where credential_id = $1 and ($2::integer is null or user_id = $2)`,
    [Buffer.from(answer.id, 'base64url'), userId],
  );
  const [stored] = rows;
  if (stored === undefined) return null;
  const verified = await (await webauthn())
    .verifyAuthenticationResponse({
      response: answer,
      expectedChallenge: challenge.challenge,
      expectedOrigin: deps.config.publicUrl,
      expectedRPID: rpIdOf(deps),
      requireUserVerification: true,
      credential: {
        id: stored.credential_id.toString('base64url'),
        publicKey: Uint8Array.from(stored.public_key),
        counter: Number(stored.counter),
        transports: stored.transports,
      },
    })
    .catch(() => null);
  if (verified === null || !verified.verified) return null;
  const { rowCount } = await executor.query(
    `update user_passkeys set counter = $2, last_used_at = $3, last_challenge_at = $4
    where id = $1 and (last_challenge_at is null or last_challenge_at < $4)`,
    [stored.id, verified.authenticationInfo.newCounter, new Date(deps.now()), new Date(challenge.madeMs)],
  );
  return rowCount === 1 ? stored.user_id : null;
}

/** Parses a device's response. Returns null if it is malformed. */
function parseAnswer<Answer extends { id: string }>(text: string): Answer | null {
  try {
    const answer = JSON.parse(text) as Answer | null;
    return typeof answer?.id === 'string' && /^[\w-]{1,1400}$/.test(answer.id) ? answer : null;
  } catch {
    return null;
  }
}
