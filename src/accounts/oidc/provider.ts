import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { isLoopbackUrl, type OidcSetting } from '../../config/oidc.ts';
import { hourMs } from '../../platform/lib/time.ts';

/** State that is stored in the browser during a sign-in. */
export type PendingSignIn = { state: string; nonce: string; verifier: string };

/** User identity reported by the provider. */
export type Identity = {
  issuer: string;
  subject: string;
  /** Verified e-mail address. Null if the provider did not send or verify one. */
  verifiedEmail: string | null;
  /** Values of the claim that determines the user's roles. */
  roleValues: readonly string[];
  /** Time when the user authenticated at the provider, in epoch milliseconds. Null if unknown. */
  authMs: number | null;
  idToken: string;
};

/** Logout at the provider. It ends the session `sid`, or all sessions of `subject`. At least one of the two is set. */
export type ProviderLogout = { issuer: string; subject: string | null; sid: string | null; atMs: number };

/** OpenID provider client. Uses the authorization code flow with PKCE, state and nonce. */
export type OidcProvider = {
  /**
   * Starts a sign-in.
   * @param maxAgeS maximum age of the user's authentication in seconds; if it is exceeded, the provider asks the user
   * to authenticate again
   * @throws Error if the provider cannot be reached
   */
  begin: (maxAgeS: number) => Promise<{ url: string; pending: PendingSignIn }>;
  /**
   * Completes a sign-in.
   * @param query query string of the callback, without the question mark
   * @throws Error if the response does not match `pending`, or if its token has expired, is for a different audience or
   * has an invalid signature
   */
  finish: (query: string, pending: PendingSignIn) => Promise<Identity>;
  /** Returns the URL that ends the session at the provider, or null if the provider does not support this. */
  endSessionUrl: (idToken: string) => Promise<string | null>;
  /**
   * Verifies the logout token that the provider sends when a session has ended (OpenID Connect Back-Channel Logout).
   * @throws Error if it is not a logout token, is not signed by the provider, is for a different audience or is too old
   */
  readLogoutToken: (token: string) => Promise<ProviderLogout>;
};

/** Refresh interval for the provider metadata, in milliseconds. */
const metadataLifetimeMs = hourMs;
/** Timeout for each call to the provider, in seconds. */
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
      // Fetch missing claims from the userinfo endpoint, because some providers return them only there. Claims in the
      // signed token take precedence.
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
/** Maximum age of a logout token, in seconds. */
const logoutTokenLifetimeS = 120;
/** Tolerance for clock differences with the provider, in seconds. */
const clockToleranceS = 30;

/**
 * Converts the claims of a logout token.
 * @throws Error if it is not a logout token
 */
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
    // Verify the ID token's signature even though the token comes directly from the provider over TLS.
    oidc.enableNonRepudiationChecks,
    ...(issuer.protocol === 'http:' && isLoopbackUrl(issuer) ? [oidc.allowInsecureRequests] : []),
  ];
  return oidc.discovery(issuer, clientId, undefined, authentication(clientSecret), { timeout: timeoutS, execute });
}

/**
 * Returns the client authentication method. This is `client_secret_basic`, the standard's default, unless the provider
 * only supports `client_secret_post`.
 */
function authentication(secret: string | null): oidc.ClientAuth {
  if (secret === null) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method =
      supported.includes('client_secret_basic') || !supported.includes('client_secret_post') ? basic : post;
    return method(server, ...rest);
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

/** Caches the result of `make` for `lifetimeMs` milliseconds. Failures are not cached. */
function cachedFor<T>(lifetimeMs: number, now: () => number, make: () => Promise<T>): () => Promise<T> {
  let cached: { value: Promise<T>; atMs: number } | null = null;
  return () => {
    if (cached === null || now() - cached.atMs > lifetimeMs) {
      const value = make();
      cached = { value, atMs: now() };
      value.catch(() => {
        if (cached?.value === value) cached = null;
      });
    }
    return cached.value;
  };
}
