import { type Api, createApi } from './api.ts';
import { objectOf, parseUrl } from './compat.ts';
import { checkConfig, type Source } from './config.ts';
import { SdkError } from './errors.ts';
import { allowStorage } from './storage.ts';
import type { AdConfig, UserPayload } from './types.ts';

/** Validated configuration of a unit. */
export type Setup = {
  config: AdConfig;
  user: UserPayload;
  api: Api;
  base: string;
  /** Key of the unit's responses in web storage. */
  storageKey: string;
};

/**
 * Reads the configuration of a unit. `problems` contains an error message for each invalid member. Invalid members are
 * ignored. `user` excludes data that must not be sent. Stored data that is no longer allowed is removed.
 * @throws SdkError invalid_parameter
 */
export function readSetup(source: Source, scriptBase: string): Omit<Setup, 'storageKey'> & { problems: string[] } {
  const { config, problems } = checkConfig(source.config);
  const { accountId } = config;
  const base = (config.apiUrl ?? scriptBase).replace(/\/+$/, '');
  const fail = (message: string): never => {
    throw new SdkError('invalid_parameter', [message, ...problems].join(' '));
  };
  if (accountId === undefined || accountId === '') fail('AdConfig.accountId is missing.');
  if (!/^https?:/.test(base) || !parseUrl(base)) fail('AdConfig.apiUrl is not a URL.');
  const isUser = typeof source.user === 'object' && !Array.isArray(source.user);
  if (!isUser) problems.push('AdUser is not an object.');
  const payload = isUser ? source.user : {};
  const refused = refusesIdentity(config, payload);
  allowStorage(!refused);
  const user = refused ? withoutIdentity(payload) : payload;
  return { config, user, api: createApi(base, accountId as string), base, problems };
}

/** Returns a promise that resolves when a prerendered page is shown. Returns null if the page is already shown. */
export const activation = (): Promise<unknown> | null =>
  (document as { prerendering?: boolean }).prerendering === true
    ? new Promise((resolve) => document.addEventListener('prerenderingchange', resolve, { once: true }))
    : null;

export function whenParsed(work: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', work, { once: true });
  // Wait until the page's load handler for the script has run, because it may call init().
  else setTimeout(work);
}

/**
 * Body fields that do not identify a user. Custom attributes are excluded, because any of them may identify a user, for
 * example a customer number.
 */
const harmless = ['placement', 'country', 'themeId', 'theme_id', 'timeout_ms', 'dev'];

/**
 * Returns whether consent is refused, by the same rules as the service (docs/reference/fetch-offers.md#request-body).
 */
const isRefused = (consent: unknown): boolean =>
  ![undefined, null, '', true, 1, 'true', '1', 'yes', 'granted'].includes(consent as null);

/** Returns whether the user, the page or the browser (through Global Privacy Control) refuses identification. */
const refusesIdentity = (config: AdConfig, user: UserPayload): boolean =>
  isRefused(config.consent) ||
  isRefused(user.consent) ||
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;

/** Returns the user data that may still be sent if the user refuses identification. */
const withoutIdentity = (user: UserPayload): UserPayload => ({
  ...objectOf(Object.entries(user).filter(([name]) => harmless.includes(name))),
  consent: false,
});
