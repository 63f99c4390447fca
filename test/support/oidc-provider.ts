import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export type ProviderUser = { sub: string; email?: string | undefined; email_verified?: unknown; groups?: unknown };

type Claims = Record<string, unknown>;

export type TestProvider = {
  issuer: string;
  /** User who signs in next. */
  user: ProviderUser;
  /**
   * Changes the claims of ID tokens before they are signed, like a hostile or broken provider. Null leaves them
   * unchanged.
   */
  tamper: ((claims: Claims) => Claims) | null;
  /** Returns a signed logout token, as sent to a client when sessions end. */
  logoutToken: (claims: Claims) => string;
  /** Signs in like a browser without a session. Returns the URL to which the provider redirects. */
  signIn: (authorizationUrl: string) => Promise<URL>;
  close: () => Promise<void>;
};

export const clientId = 'perkwire';
export const clientSecret = 'a client secret of the tests, long enough';

const lifetimeS = 600;

/** Starts oidc-provider on a free local port. It does not ask for a password, and signs in `user`. */
export async function startOidcProvider(redirectUri: string, signedOutUri: string): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyId = createHash('sha256').update(issuer).digest('hex');
  const signed = (claims: Claims): string => {
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${encode({ alg: 'RS256', kid: keyId })}.${encode(claims)}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const test: TestProvider = {
    issuer,
    user: { sub: 'nobody' },
    tamper: null,
    logoutToken: (claims) => signed({ iss: issuer, aud: clientId, ...claims }),
    signIn: (url) => follow(url, issuer),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  const lifetimes = ['AccessToken', 'AuthorizationCode', 'Grant', 'IdToken', 'Interaction', 'Session'];
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [signedOutUri],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: keyId, use: 'sig', alg: 'RS256' }] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    features: { devInteractions: { enabled: false } },
    ttl: Object.fromEntries(lifetimes.map((name) => [name, lifetimeS])),
    interactions: { url: (_context, { uid }) => `/finish/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...test.user }) }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        ...(oidc.client !== undefined && { clientId: oidc.client.clientId }),
        ...(oidc.session?.accountId !== undefined && { accountId: oidc.session.accountId }),
      });
      grant.addOIDCScope('openid email groups');
      await grant.save();
      return grant;
    },
  });
  const serve = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/finish/'))
      return void provider.interactionFinished(request, response, { login: { accountId: test.user.sub } });
    const { tamper } = test;
    if (request.url === '/token' && tamper !== null) changeIdToken(response, (claims) => signed(tamper(claims)));
    void serve(request, response);
  });
  return test;
}

/** Replaces the ID token of a token response with one that has other claims. */
function changeIdToken(response: ServerResponse, sign: (claims: Claims) => string): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse;
  response.end = ((body: unknown) => {
    const tokens = JSON.parse(String(body)) as { id_token?: string };
    const payload = Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString();
    const changed = JSON.stringify({ ...tokens, id_token: sign(JSON.parse(payload)) });
    response.setHeader('content-length', Buffer.byteLength(changed));
    return end(changed);
  }) as typeof response.end;
}

/** Follows redirects with cookies until they leave the provider. */
async function follow(start: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  while (url.startsWith(issuer)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`the provider answers ${answer.status}: ${await answer.text()}`);
    url = new URL(location, url).href;
  }
  return new URL(url);
}
