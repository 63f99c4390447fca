import { AppError } from '../../platform/errors.ts';
import { parseUrlTemplate, urlMacros } from '../../platform/lib/url-template.ts';
import { type BlockReason, checkUrl, type Net } from '../dispatcher/send/address-guard.ts';

export type UrlRules = { allowHttp: boolean; allowNets: readonly Net[] };

/** The longest URL of an endpoint (characters). */
const maxUrlLength = 2000;
/** Macros in one URL (count). */
const maxMacros = 50;

const refusals: Record<BlockReason, string> = {
  invalid_url: 'must be an absolute URL, percent-encoded, without blanks',
  scheme_not_allowed: 'must begin with https://',
  https_required: 'must begin with https://',
  credentials_in_url: 'must not hold a user name or password',
  port_not_allowed: 'must use port 80, 443 or one from 1024',
  blocked_address: 'must not name an address that is not public',
  local_name: 'must name a host of the public Internet',
};

/**
 * Checks an endpoint's URL without calling it.
 * @throws AppError `invalid_endpoint`, with what is wrong
 */
export function requireUsableUrl(url: string, rules: UrlRules): void {
  const checked = checkUrl(url, rules);
  if (!checked.ok) throw invalidUrl(refusals[checked.reason]);
  // The URL parser accepts blanks and other spellings of the scheme; the URL is called exactly as it is stored.
  if (!/^https?:\/\/[^\s\0]+$/.test(url) || !url.isWellFormed()) throw invalidUrl(refusals.invalid_url);
  if (url.length > maxUrlLength) throw invalidUrl(`must be at most ${maxUrlLength} characters long`);
  if (/^https?:\/\/[^/?#\\]*[{}]/.test(url)) throw invalidUrl('must not have macros in the name of the host');
  const template = parseUrlTemplate(url);
  if (template !== null && urlMacros(template).length > maxMacros)
    throw invalidUrl(`must hold at most ${maxMacros} macros`);
}

const invalidUrl = (message: string): AppError =>
  new AppError('invalid_endpoint', { details: [{ path: '/url', message }] });
