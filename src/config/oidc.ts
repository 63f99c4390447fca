/** Access granted to a user who signs in through the OpenID provider: a role, and the publisher to which it applies. */
export type Grant =
  | { role: 'operator'; publisherId: null }
  | { role: 'admin' | 'manager' | 'analyst' | { customRole: string }; publisherId: number };

/** Settings for the OpenID provider through which dashboard users sign in, and for the access that it grants. */
export type OidcSetting = {
  issuer: string;
  clientId: string;
  /** Client secret, or null for a public client. PKCE is used in both cases. */
  clientSecret: string | null;
  /** Requested scopes, separated by spaces. */
  scopes: string;
  /** Allowed e-mail domains, in lower case. Users with other domains are rejected. */
  allowedDomains: readonly string[];
  /** Name of the claim that states whether the e-mail address is verified. */
  emailVerifiedClaim: string;
  /** Name of the claim that determines roles, or null if roles are managed in the dashboard. */
  roleClaim: string | null;
  /**
   * Values of the role claim, with the access that each grants. If several values grant access to the same publisher,
   * the first one applies.
   */
  grants: readonly { value: string; grant: Grant }[];
  /** Access for users whose role claim has none of these values, or null to reject them. */
  defaultGrant: Grant | null;
};

type OidcVariables = {
  OIDC_ISSUER: string;
  OIDC_CLIENT_ID: string;
  OIDC_CLIENT_SECRET: string;
  OIDC_SCOPES: string;
  OIDC_ALLOWED_DOMAINS: string;
  OIDC_EMAIL_VERIFIED_CLAIM: string;
  OIDC_ROLE_CLAIM: string;
  OIDC_ROLES: string;
  OIDC_DEFAULT_ROLE: string;
  PASSWORD_SIGN_IN: boolean;
};

/**
 * Parses the `OIDC_*` variables. Returns null if single sign-on is not configured.
 * @param problems array to which problems are added
 */
export function parseOidc(raw: OidcVariables, problems: string[]): OidcSetting | null {
  if (raw.OIDC_ISSUER === '') {
    if (!raw.PASSWORD_SIGN_IN) problems.push('PASSWORD_SIGN_IN can be false only if OIDC_ISSUER is set');
    return null;
  }
  if (!isIssuer(raw.OIDC_ISSUER)) problems.push('OIDC_ISSUER must be an https URL such as https://login.example.com');
  if (raw.OIDC_CLIENT_ID === '') problems.push('OIDC_CLIENT_ID must be set if OIDC_ISSUER is set');
  if (!raw.OIDC_SCOPES.split(' ').includes('openid')) problems.push('OIDC_SCOPES must contain openid');
  const allowedDomains = listOf(raw.OIDC_ALLOWED_DOMAINS, ',').map((domain) => domain.toLowerCase());
  if (allowedDomains.length === 0 || !allowedDomains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)))
    problems.push('OIDC_ALLOWED_DOMAINS must list the e-mail domains that can sign in, such as example.com');
  const grants = parseGrants(raw.OIDC_ROLES, problems);
  if ((raw.OIDC_ROLE_CLAIM === '') !== (grants.length === 0))
    problems.push('OIDC_ROLES and OIDC_ROLE_CLAIM must be set together');
  const defaultGrant = parseGrant(raw.OIDC_DEFAULT_ROLE);
  if (raw.OIDC_DEFAULT_ROLE !== '' && defaultGrant === null)
    problems.push(`OIDC_DEFAULT_ROLE must be empty or ${grantForm}`);
  return {
    issuer: raw.OIDC_ISSUER,
    clientId: raw.OIDC_CLIENT_ID,
    clientSecret: raw.OIDC_CLIENT_SECRET === '' ? null : raw.OIDC_CLIENT_SECRET,
    scopes: raw.OIDC_SCOPES,
    allowedDomains,
    emailVerifiedClaim: raw.OIDC_EMAIL_VERIFIED_CLAIM,
    roleClaim: raw.OIDC_ROLE_CLAIM === '' ? null : raw.OIDC_ROLE_CLAIM,
    grants,
    defaultGrant,
  };
}

const listOf = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const isLoopbackUrl = (url: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(url));
  return isSafe && url.search === '' && url.hash === '' && url.username === '';
}

const grantForm = 'operator, admin:12, manager:12, analyst:12 or role/NAME:12, where 12 is a publisher ID';

function parseGrant(text: string): Grant | null {
  if (text === 'operator') return { role: 'operator', publisherId: null };
  const [, role, customRole, id] = /^(?:(admin|manager|analyst)|role\/(.{1,200})):([1-9]\d{0,8})$/.exec(text) ?? [];
  if (id === undefined) return null;
  const publisherId = Number(id);
  return customRole === undefined
    ? { role: role as 'admin' | 'manager' | 'analyst', publisherId }
    : { role: { customRole: customRole.trim() }, publisherId };
}

/**
 * Parses the mapping from claim values to access. Values may contain `=` and `,`, as the names of directory groups do.
 */
function parseGrants(text: string, problems: string[]): { value: string; grant: Grant }[] {
  return listOf(text, ';').flatMap((entry) => {
    const at = entry.lastIndexOf('=');
    const [value, grant] = [entry.slice(0, Math.max(at, 0)).trim(), parseGrant(entry.slice(at + 1).trim())];
    if (value !== '' && grant !== null) return [{ value, grant }];
    problems.push(`OIDC_ROLES contains "${entry}"; entries must have the form value=role, where role is ${grantForm}`);
    return [];
  });
}
