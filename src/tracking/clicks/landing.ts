import type { LandingMacro } from '../../catalog/names.ts';
import type { TokenKey } from '../../config.ts';
import { fillUrl, parseUrlTemplate, type UrlTemplate, urlMacros } from '../../platform/lib/url-template.ts';
import { writeUuid } from '../../platform/lib/uuid7.ts';
import { createSigner } from '../../platform/security/tracking-token.ts';

/** A stored landing URL, which may contain macros such as `{click_id}`. */
export type Landing = UrlTemplate & { needsSession: boolean; needsCoupon: boolean };

/** Values of the macros. Absent and null values, and unknown macros, become empty. */
export type LandingValues = Record<LandingMacro, string | number | null> & {
  click_id: string;
  /** The session's alias for the campaign. */
  session_id: string | null;
  placement: string | null;
  /** The user's code of the offer. */
  coupon_code: string | null;
  offer_id: number;
  campaign_id: number;
  publisher_id: number;
};

/** Parses a stored landing URL; returns null for anything but https. Macros are recognised only after the host. */
export function parseLanding(landingUrl: string): Landing | null {
  const template = /^https:/i.test(landingUrl) ? parseUrlTemplate(landingUrl) : null;
  if (template === null) return null;
  const macros = urlMacros(template);
  return { ...template, needsSession: macros.includes('placement'), needsCoupon: macros.includes('coupon_code') };
}

/**
 * Returns the URL that a click is redirected to (docs/reference/tracking-and-conversions.md#tracking-urls). Macros are
 * filled and percent-encoded. A parameter named `clickIdParam` gets the click id, whatever its value was; it is added
 * if there is neither such a parameter nor the macro. No value can change the origin.
 */
export function fillLanding(landing: Landing, clickIdParam: string, values: LandingValues): string {
  const byName: ReadonlyMap<string, string | number | null> = new Map(Object.entries(values));
  const url = fillUrl(landing, (name) => String(byName.get(name) ?? ''));
  if (url.searchParams.has(clickIdParam)) url.search = replaceParameter(url.search, clickIdParam, values.click_id);
  else if (!urlMacros(landing).includes('click_id'))
    url.search += `${url.search === '' ? '?' : '&'}${clickIdParam}=${values.click_id}`;
  return url.href;
}

/** Replaces the values of a parameter, and keeps the encoding of the rest of the query. */
const replaceParameter = (search: string, name: string, value: string): string =>
  search
    .slice(1)
    .split('&')
    .map((pair) => (new URLSearchParams(pair).has(name) ? `${pair.split('=')[0]}=${value}` : pair))
    .join('&');

/**
 * Alias of a session for an advertiser, in a landing page's macro `{session_id}`
 * (docs/reference/tracking-and-conversions.md#tracking-urls). It is the same for all clicks of a session on a campaign.
 * It cannot be reversed, nor matched with that of another campaign.
 */
export type SessionAlias = (sessionId: string, campaignId: number) => string;

/**
 * Creates the aliases.
 * @returns a function that returns 22 characters of base64url; they change with the first key
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
