import type { LandingMacro } from '../../catalog/names.ts';
import type { TokenKey } from '../../config.ts';
import { fillUrl, parseUrlTemplate, type UrlTemplate, urlMacros } from '../../platform/lib/url-template.ts';
import { writeUuid } from '../../platform/lib/uuid7.ts';
import { createSigner } from '../../platform/security/tracking-token.ts';

/** Landing page URL as stored, which may contain macros such as `{click_id}`. */
export type Landing = UrlTemplate & { needsSession: boolean; needsCoupon: boolean };

/** Macro values. Unknown macros and absent or null values are replaced with an empty string. */
export type LandingValues = Record<LandingMacro, string | number | null> & {
  click_id: string;
  /** Alias of the session, which is different for each campaign. */
  session_id: string | null;
  placement: string | null;
  /** The user's coupon code for the offer. */
  coupon_code: string | null;
  offer_id: number;
  campaign_id: number;
  publisher_id: number;
};

/**
 * Parses a stored landing page URL. Returns null unless it is an https URL. Macros are recognised only after the host.
 */
export function parseLanding(landingUrl: string): Landing | null {
  const template = /^https:/i.test(landingUrl) ? parseUrlTemplate(landingUrl) : null;
  if (template === null) return null;
  const macros = urlMacros(template);
  return { ...template, needsSession: macros.includes('placement'), needsCoupon: macros.includes('coupon_code') };
}

/**
 * Builds the URL to which a click is redirected (docs/reference/tracking-and-conversions.md#tracking-urls):
 * - Macros are replaced with percent-encoded values. No value can change the URL's origin.
 * - The parameter `clickIdParam` is set to the click ID. If the URL contains neither this parameter nor the click ID
 *   macro, the parameter is added.
 */
export function fillLanding(landing: Landing, clickIdParam: string, values: LandingValues): string {
  const byName: ReadonlyMap<string, string | number | null> = new Map(Object.entries(values));
  const url = fillUrl(landing, (name) => String(byName.get(name) ?? ''));
  if (url.searchParams.has(clickIdParam)) url.search = replaceParameter(url.search, clickIdParam, values.click_id);
  else if (!urlMacros(landing).includes('click_id'))
    url.search += `${url.search === '' ? '?' : '&'}${clickIdParam}=${values.click_id}`;
  return url.href;
}

/** Replaces the value of a query parameter without changing the encoding of the rest of the query. */
const replaceParameter = (search: string, name: string, value: string): string =>
  search
    .slice(1)
    .split('&')
    .map((pair) => (new URLSearchParams(pair).has(name) ? `${pair.split('=')[0]}=${value}` : pair))
    .join('&');

/**
 * Returns an alias for the session, which advertisers receive through the landing page macro `{session_id}`
 * (docs/reference/tracking-and-conversions.md#tracking-urls). The alias is the same for all clicks in a session on the
 * same campaign. It cannot be reversed or linked to the alias for another campaign.
 */
export type SessionAlias = (sessionId: string, campaignId: number) => string;

/**
 * Creates the session alias function.
 * @returns a function that returns 22 characters of base64url; the alias changes when the first key changes
 */
export function createSessionAlias(tokenKeys: readonly TokenKey[]): SessionAlias {
  const signer = createSigner(tokenKeys, 'session-alias');
  return (sessionId, campaignId) => {
    const id = Buffer.alloc(20);
    writeUuid(sessionId, id, 0);
    id.writeUInt32BE(campaignId, 16);
    return signer.sign(id).toString('base64url');
  };
}
