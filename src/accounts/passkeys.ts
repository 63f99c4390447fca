import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Executor } from '../platform/db/pool.ts';
import { minuteMs } from '../platform/lib/time.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import type { User } from '../shell/context.ts';

/** Loaded at first use: loading takes about 0.5 s of processor time. */
const webauthn = () => import('@simplewebauthn/server');

/** Time between the page with a challenge and the answer of the device (milliseconds). */
const challengeLifetimeMs = 15 * minuteMs;

/** Passkeys of one user (count). */
export const maxPasskeys = 20;

/** What a challenge is for, so that none answers another. `sign-in`: of any user. */
type Purpose = 'sign-in' | `code:${number}` | `add:${number}`;

type Deps = { secretBox: SecretBox; config: { publicUrl: string }; now: () => number };

/** The options of a call in the browser, and the challenge in them, sealed for the form that brings the answer. */
export type Ceremony = { options: string; sealed: string };

const rpIdOf = ({ config }: Deps): string => new URL(config.publicUrl).hostname;

const contextOf = (purpose: Purpose): string => `passkey:${purpose}`;

function seal({ secretBox, now }: Deps, purpose: Purpose, options: { challenge: string }): Ceremony {
  const kept = JSON.stringify({ challenge: options.challenge, madeMs: now() });
  return {
    options: JSON.stringify(options),
    sealed: secretBox.seal(kept, contextOf(purpose)).toString('base64url'),
  };
}

type Challenge = { challenge: string; madeMs: number };

/** null: altered, made for something else, or too old. */
function open({ secretBox, now }: Deps, purpose: Purpose, sealed: string): Challenge | null {
  try {
    const kept = JSON.parse(secretBox.open(Buffer.from(sealed, 'base64url'), contextOf(purpose))) as Challenge;
    return kept.madeMs > now() - challengeLifetimeMs ? kept : null;
  } catch {
    return null;
  }
}

export type Passkey = { id: number; name: string; createdAt: Date; lastUsedAt: Date | null };

/** The passkeys of a user, the oldest first. */
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

/** Begins to add a passkey: the device makes one that signs in alone, after its own check of the user. */
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

type Answer = { sealed: string; response: string };

/** Stores what a device made. @returns false: the answer is not right, or there are too many */
export async function addPasskey(
  deps: Deps,
  executor: Executor,
  { userId, name, sealed, response }: Answer & { userId: number; name: string },
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

/** Removes one of a user's passkeys. @returns its name; null: the user has none with this id */
export async function removePasskey(executor: Executor, userId: number, id: number): Promise<string | null> {
  const { rows } = await executor.query<{ name: string }>(
    'delete from user_passkeys where user_id = $1 and id = $2 returning name',
    [userId, id],
  );
  return rows[0]?.name ?? null;
}

/** Begins a sign-in with a passkey alone, of whichever user. */
export async function beginSignIn(deps: Deps): Promise<Ceremony> {
  const options = await (await webauthn()).generateAuthenticationOptions({
    rpID: rpIdOf(deps),
    userVerification: 'required',
  });
  return seal(deps, 'sign-in', options);
}

/** Begins the second step of a sign-in; null: the user has no passkey. */
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
 * Accepts the answer of a device to a challenge, once.
 * @param userId whose second step it is; null: it signs in alone
 * @returns the user of the passkey; null: it is unknown, of another origin, or the challenge was answered before
 */
export async function acceptPasskey(
  deps: Deps,
  executor: Executor,
  { userId, sealed, response }: Answer & { userId: number | null },
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

/** null: no answer of a device. */
function parseAnswer<Answer extends { id: string }>(text: string): Answer | null {
  try {
    const answer = JSON.parse(text) as Answer | null;
    return typeof answer?.id === 'string' && /^[\w-]{1,1400}$/.test(answer.id) ? answer : null;
  } catch {
    return null;
  }
}
