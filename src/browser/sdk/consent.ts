import type { AdConfig, UserPayload } from './types.ts';

/** Members of a request body that tell nobody apart. Any custom attribute may, such as a customer's number. */
const harmless = ['placement', 'country', 'themeId', 'theme_id', 'timeout_ms', 'dev'];

/** As the service reads it (docs/interface.md#request-body). */
const isRefused = (consent: unknown): boolean => ['false', '0'].includes(`${consent}`);

/** Whether the user, the page or the browser (Global Privacy Control) refuses identification. */
export const refusesIdentity = (config: AdConfig, user: UserPayload): boolean =>
  isRefused(config.consent) ||
  isRefused(user.consent) ||
  (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl === true;

/** What may be sent of a user who refuses identification. */
export const withoutIdentity = (user: UserPayload): UserPayload => ({
  ...Object.fromEntries(Object.entries(user).filter(([name]) => harmless.includes(name))),
  consent: false,
});
