import type { FastifyRequest } from 'fastify';
import { countryOf } from '../../catalog/rules/countries.ts';
import { maxPlacementLength, normaliseName } from '../../catalog/snapshot/names.ts';
import { AppError } from '../../platform/errors.ts';
import { textOrNull } from '../../platform/lib/text-or-null.ts';
import { oldRequestNames, withNewRequestNames } from '../render/legacy-names.ts';
import { type Note, readCustomAttributes } from './custom-attributes.ts';
import { type FetchOffersBody, type FetchOffersQuery, fetchOffersBody } from './request-schema.ts';

/** A validated fetch-offers request. */
export type FetchOffersRequest = {
  /** Normalised: lower case, hyphens. */
  placement: string;
  userAgent: string;
  ip: string;
  /** Upper case, or null when not given. */
  country: string | null;
  /** Whether the end user's identity may be used; without it `adFp` and `pubUserId` are null. */
  consent: boolean;
  adFp: string | null;
  pubUserId: string | null;
  dev: boolean;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Id or key of a theme, which the publisher may not have. */
  themeId: string | null;
  /** The answer is due this long after the request came; null: whenever it is ready. */
  timeoutMs: number | null;
  /** The publisher's own attributes, as text. */
  custom: ReadonlyMap<string, string>;
};

const knownKeys = new Set([...Object.keys(fetchOffersBody.properties), ...oldRequestNames]);

const isSet = (value: unknown): boolean => value === '1' || value === 1 || value === true;

/** What the connection says about the client. */
export type Client = { ip: string; userAgent: string; gpc: boolean };

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Client => ({
  ip,
  userAgent: headers['user-agent'] ?? '',
  gpc: headers['sec-gpc'] === '1',
});

/** `false` may be sent as text. */
const isConsentRefused = (consent: unknown): boolean =>
  consent === '0' || consent === 0 || consent === false || consent === 'false';

/**
 * Reads query and body, both already checked against their schemas.
 * @param note is told what of it is ignored or dropped
 * @throws AppError missing_placement, pub_user_id_is_pii, invalid_request
 */
export function readFetchOffers(
  query: FetchOffersQuery,
  given: FetchOffersBody,
  client: Client,
  note: Note = () => {},
): FetchOffersRequest {
  const body = withNewRequestNames(given);
  const placement = normaliseName(body.placement ?? '');
  if (placement === '')
    throw new AppError('missing_placement', { details: [{ path: '/placement', message: 'is required' }] });
  // Some letters become two in lower case.
  if (placement.length > maxPlacementLength && [...placement].length > maxPlacementLength)
    throw new AppError('invalid_request', {
      details: [{ path: '/placement', message: `must have at most ${maxPlacementLength} characters` }],
    });
  const pubUserId = textOrNull(body.pub_user_id) ?? textOrNull(query.pub_user_id);
  if (pubUserId !== null && isPii(pubUserId))
    throw new AppError('pub_user_id_is_pii', {
      details: [{ path: '/pub_user_id', message: 'must not be an e-mail address or a phone number' }],
    });
  const ip = textOrNull(body.ip);
  const consent = !client.gpc && !isConsentRefused(body.consent);
  const timeoutMs = query.timeout_ms ?? body.timeout_ms;
  return {
    placement,
    userAgent: textOrNull(body.ua) ?? client.userAgent,
    ip: ip === null || ip.toLowerCase() === 'auto' ? client.ip : ip,
    country: readCountry(body.country, note) ?? readCountry(query.country, note),
    consent,
    adFp: consent ? textOrNull(body.ad_fp) : null,
    pubUserId: consent ? pubUserId : null,
    dev: isSet(body.dev),
    loyalty: query.loyaltyboost === '2' ? 'only' : query.loyaltyboost === '1' ? 'also' : 'none',
    onlyWithCreative: isSet(query.creative ?? body.creative),
    campaignId: query.campaignId === undefined ? null : Number(query.campaignId),
    themeId: readThemeName(body.themeId, note),
    timeoutMs: timeoutMs === undefined ? null : Number(timeoutMs),
    custom: readCustomAttributes(given, knownKeys, note),
  };
}

/** Upper-case alpha-2; null: none was given, or nothing that names a country. */
function readCountry(given: unknown, note: Note): string | null {
  if (given === undefined || given === '') return null;
  const country = typeof given === 'string' ? countryOf(given) : null;
  if (country === null) note('/country', 'ignored: not a country code of ISO 3166-1 with two or three letters');
  return country;
}

function readThemeName(given: unknown, note: Note): string | null {
  if (given === undefined) return null;
  if (typeof given === 'string' || typeof given === 'number') return textOrNull(given);
  note('/themeId', 'ignored: neither the id nor the key of a theme');
  return null;
}

/**
 * Whether a user id is an e-mail address, or a phone number written with `+`, blanks, dashes or brackets. Digits alone
 * are fine.
 */
export function isPii(id: string): boolean {
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(id)) return true;
  const digits = id.replace(/\D/g, '').length;
  return /^[+\d\s()[\]-]+$/.test(id) && /\D/.test(id) && digits >= 7 && digits <= 15;
}
