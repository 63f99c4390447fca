import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { isLoopbackUrl, type OidcSetting } from '../../config/oidc.ts';
import { hourMs } from '../../platform/lib/time.ts';

/** What the browser keeps between the start of a sign-in and its end. */
export type PendingSignIn = { state: string; nonce: string; verifier: string };

/** A user as the provider vouches for them. */
export type Identity = {
  issuer: string;
  subject: string;
  /** null: the provider sent none, or did not verify it. */
  verifiedEmail: string | null;
  /** Values of the claim that decides about roles. */
  roleValues: readonly string[];
  /** When the user proved who they are to the provider (epoch milliseconds); null: it does not say. */
  authMs: number | null;
  idToken: string;
};

/** What has ended at the provider: the session `sid`, or all of `subject`; one of them is named. */
export type ProviderLogout = { issuer: string; subject: string | null; sid: string | null; atMs: number };

/** Sign-in at an OpenID provider: authorization code with PKCE, state and nonce. */
export type OidcProvider = {
  /**
   * @param maxAgeS the provider asks again who is there, where it asked longer ago (seconds)
   * @throws Error when the provider cannot be reached
   */
  begin: (maxAgeS: number) => Promise<{ url: string; pending: PendingSignIn }>;
  /**
   * @param query of the callback, without a question mark
   * @throws Error when the response is not the one to `pending`, or its token is not for us, expired or not signed
   */
  finish: (query: string, pending: PendingSignIn) => Promise<Identity>;
  /** Where the session at the provider is ended; null: it offers none. */
  endSessionUrl: (idToken: string) => Promise<string | null>;
  /**
   * Reads the token by which the provider says that a session has ended (OpenID Connect Back-Channel Logout).
   * @throws Error when it is not signed by the provider, not for us, too old, or none
   */
  readLogoutToken: (token: string) => Promise<ProviderLogout>;
};

/** The provider's metadata is read again after this time (milliseconds). */
const metadataLifetimeMs = hourMs;
/** Of each call (seconds). */
const timeoutS = 10;

type ProviderOptions = { setting: OidcSetting; callbackUrl: string; signedOutUrl: string; now: () => number };

export function createOidcProvider({ setting, callbackUrl, signedOutUrl, now }: ProviderOptions): OidcProvider {
  const metadata = cachedFor(metadataLifetimeMs, now, () => discover(setting));
  const keySet = cachedFor(metadataLifetimeMs, now, async () => {
    const { jwks_uri: url } = (await metadata()).serverMetadata();
    if (url === undefined) throw new Error('the provider names no keys');
    return createRemoteJWKSet(new URL(url), { timeoutDuration: timeoutS * 1000 });
  });
  return {
    begin: async (maxAgeS) => {
      const config = await metadata();
      const pending = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: callbackUrl,
        scope: setting.scopes,
        max_age: String(maxAgeS),
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, pending };
    },
    finish: async (query, { state, nonce, verifier }) => {
      const config = await metadata();
      const tokens = await oidc.authorizationCodeGrant(config, new URL(`${callbackUrl}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined) throw new Error('the provider sent no ID token');
      const isComplete = ['email', setting.emailVerifiedClaim, setting.roleClaim ?? 'sub'].every(
        (name) => name in claims,
      );
      // Providers may leave these claims to the userinfo endpoint. What the signed token says counts more.
      const more =
        isComplete || config.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
      return identityOf({ ...more, ...claims }, setting, tokens.id_token);
    },
    endSessionUrl: async (idToken) => {
      const config = await metadata();
      if (config.serverMetadata().end_session_endpoint === undefined) return null;
      const parameters = { id_token_hint: idToken, post_logout_redirect_uri: signedOutUrl };
      return oidc.buildEndSessionUrl(config, parameters).href;
    },
    readLogoutToken: async (token) => {
      const { payload } = await jwtVerify(token, await keySet(), {
        issuer: (await metadata()).serverMetadata().issuer,
        audience: setting.clientId,
        maxTokenAge: logoutTokenLifetimeS,
        clockTolerance: clockToleranceS,
        currentDate: new Date(now()),
      });
      return logoutOf(payload);
    },
  };
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** A logout token is taken within this time after it was made (seconds). */
const logoutTokenLifetimeS = 120;
/** Of its clock (seconds). */
const clockToleranceS = 30;

/** @throws Error when it is no logout token */
function logoutOf({ iss, sub, sid, iat, events, nonce }: JWTPayload): ProviderLogout {
  const isLogout = typeof events === 'object' && events !== null && logoutEvent in events && nonce === undefined;
  const session = typeof sid === 'string' ? sid : null;
  if (!isLogout || iss === undefined || iat === undefined || (sub === undefined && session === null))
    throw new Error('the token is no logout token');
  return { issuer: iss, subject: sub ?? null, sid: session, atMs: iat * 1000 };
}

function discover(setting: OidcSetting): Promise<oidc.Configuration> {
  const issuer = new URL(setting.issuer);
  const { clientId, clientSecret } = setting;
  const execute = [
    // The ID token's signature is checked although it comes from the provider by TLS.
    oidc.enableNonRepudiationChecks,
    ...(issuer.protocol === 'http:' && isLoopbackUrl(issuer) ? [oidc.allowInsecureRequests] : []),
  ];
  return oidc.discovery(issuer, clientId, undefined, authentication(clientSecret), { timeout: timeoutS, execute });
}

/** `client_secret_basic`, the default of the standard, unless the provider only names `client_secret_post`. */
function authentication(secret: string | null): oidc.ClientAuth {
  if (secret === null) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const chosen =
      supported.includes('client_secret_basic') || !supported.includes('client_secret_post') ? basic : post;
    return chosen(server, ...rest);
  };
}

function identityOf(claims: Record<string, unknown>, setting: OidcSetting, idToken: string): Identity {
  const isVerified = [true, 'true', 1, '1'].some((yes) => yes === claims[setting.emailVerifiedClaim]);
  const roles = setting.roleClaim === null ? [] : [claims[setting.roleClaim]].flat();
  return {
    issuer: String(claims.iss),
    subject: String(claims.sub),
    verifiedEmail: isVerified && typeof claims.email === 'string' ? claims.email : null,
    roleValues: roles.filter((value) => typeof value === 'string'),
    authMs: typeof claims.auth_time === 'number' ? claims.auth_time * 1000 : null,
    idToken,
  };
}

/** Makes a value once for a time; a failure is not kept. */
function cachedFor<T>(lifetimeMs: number, now: () => number, make: () => Promise<T>): () => Promise<T> {
  let made: { value: Promise<T>; atMs: number } | null = null;
  return () => {
    if (made === null || now() - made.atMs > lifetimeMs) {
      const value = make();
      made = { value, atMs: now() };
      value.catch(() => {
        if (made?.value === value) made = null;
      });
    }
    return made.value;
  };
}
