import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../accounts/caller.ts';
import {
  attributeNamePattern,
  countryOf,
  isPii,
  maxAttributeLength,
  maxAttributes,
  maxPlacementLength,
  normaliseName,
  refusedAttributeNames,
} from '../../catalog/names.ts';
import { findTheme } from '../../catalog/themes.ts';
import type { Publisher } from '../../catalog/types.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { textOrNull } from '../../platform/http/body-parsing.ts';
import { acceptedLanguages, type Wanted, wantedTag } from '../../platform/i18n/reader.ts';
import { hasGpc, isUsualConsent, readConsent } from '../../platform/lib/consent.ts';
import { problem } from '../../platform/problem.ts';
import { keepToKey } from './limited-key.ts';
import { type FetchOffersBody, type FetchOffersQuery, fetchOffersBody } from './request-schema.ts';
import { type Note, noAddress, noLanguage } from './tolerant-input.ts';

/** Validated fetch-offers request. */
export type FetchOffersRequest = {
  /** Normalised placement name: lower case, with hyphens. */
  placement: string;
  userAgent: string;
  ip: string;
  /** Upper-case country code from the request, or null if it does not specify one. */
  country: string | null;
  /**
   * Whether the end user has consented to being identified. Without consent, identifiers are null and custom attributes
   * are empty.
   */
  consent: boolean;
  adFp: string | null;
  pubUserId: string | null;
  /** SHA-256 hash of the user's e-mail address, used only for audiences. Null without consent. */
  emailSha256: string | null;
  dev: boolean;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Maximum number of offers. If null, the setting of the placement, theme or publisher applies. */
  count: number | null;
  /** ID or key of the requested theme, which may not exist. */
  themeId: string | null;
  /** Preferred languages of the end user, or null if unknown. */
  language: Wanted | null;
  /** Response deadline, in milliseconds after the request arrived. Null means no deadline. */
  timeoutMs: number | null;
  /** Arms that a dev fetch selects for testing, keyed by experiment. Null if it selects none. */
  arms: ReadonlyMap<string, string> | null;
  /** Custom attributes. All values are converted to text. */
  custom: ReadonlyMap<string, string>;
};

/** Maps old request fields to current ones. If a request contains both, the current field takes precedence. */
const oldRequestNames = { adpx_fp: 'ad_fp', fingerprint: 'ad_fp', user_agent: 'ua', theme_id: 'themeId' } as const;

const renames = Object.entries(oldRequestNames);

const knownKeys = new Set([...Object.keys(fetchOffersBody.properties), ...Object.keys(oldRequestNames)]);

const isSet = (value: unknown): boolean => value === '1' || value === 1 || value === true;

/** Data about the client, taken from the connection and HTTP headers. */
export type Client = { ip: string; userAgent: string; gpc: boolean; acceptLanguage?: string | undefined };

export const clientOf = ({ ip, headers }: FastifyRequest): Client => ({
  ip,
  userAgent: headers['user-agent'] ?? '',
  gpc: hasGpc(headers['sec-gpc']),
  acceptLanguage: headers['accept-language'],
});

/**
 * Reads a fetch-offers request of an authenticated caller. Adds a notice for each ignored or dropped value.
 * @throws AppError errors of `readFetchOffers`
 */
export function readWithNotes(
  request: FastifyRequest,
  query: FetchOffersQuery,
  body: FetchOffersBody,
): FetchOffersRequest {
  const { publisher, key } = callerOf(request);
  const note = notesOf(request);
  const read = readFetchOffers(query, body, clientOf(request), note, publisher.defaultPlacement);
  noteUnknownTheme(publisher, read.themeId, note);
  const resources = key?.restrictions?.resources ?? null;
  return resources === null ? read : keepToKey(resources, read);
}

/** Maximum number of notices per request. The number is limited because a body may have thousands of dropped fields. */
const maxNotes = 50;

/** Returns a function that adds notices about ignored and dropped values to a request. */
export const notesOf =
  (request: FastifyRequest): Note =>
  (path, message) => {
    request.notes ??= [];
    if (request.notes.length < maxNotes) request.notes.push({ path, message });
  };

/**
 * Adds a notice if the publisher has no theme with the requested ID or key.
 * @returns whether the theme is unknown
 */
export function noteUnknownTheme(publisher: Publisher, themeId: string | null, note: Note, path = '/themeId'): boolean {
  const isUnknown = themeId !== null && findTheme(publisher, themeId) === null;
  if (isUnknown) note(path, problem('noTheme'));
  return isUnknown;
}

/**
 * Reads the query and body, which are already validated against their schemas.
 * @param note called for each ignored or dropped value
 * @param defaultPlacement placement to use if the body does not specify one
 * @throws AppError missing_placement, pub_user_id_is_pii, invalid_request
 */
export function readFetchOffers(
  query: FetchOffersQuery,
  received: FetchOffersBody,
  client: Client,
  note: Note = () => {},
  defaultPlacement: string | null = null,
): FetchOffersRequest {
  const body = withNewRequestNames(received);
  const placement = readPlacement(body.placement, defaultPlacement, note);
  const pubUserId = textOrNull(body.pub_user_id) ?? textOrNull(query.pub_user_id);
  if (pubUserId !== null && isPii(pubUserId))
    throw new AppError('pub_user_id_is_pii', {
      details: [{ path: '/pub_user_id', message: problem('userIdPii') }],
    });
  const custom = readCustomAttributes(received, note);
  const consent = !client.gpc && readConsent(body.consent) !== 'refused';
  if (!isUsualConsent(body.consent)) note('/consent', problem('consentRefused'));
  const timeoutMs = query.timeout_ms ?? body.timeout_ms;
  return {
    placement,
    userAgent: textOrNull(body.ua) ?? client.userAgent,
    ip: readAddress(body.ip, note) ?? client.ip,
    country: readCountry(body.country, note) ?? readCountry(query.country, note),
    consent,
    adFp: consent ? textOrNull(body.ad_fp) : null,
    pubUserId: consent ? pubUserId : null,
    emailSha256: consent ? (body.email_sha256?.toLowerCase() ?? null) : null,
    dev: isSet(body.dev),
    loyalty: query.loyaltyboost === '2' ? 'only' : query.loyaltyboost === '1' ? 'also' : 'none',
    onlyWithCreative: isSet(query.creative ?? body.creative),
    campaignId: readCampaignId(query.campaignId, note),
    count: null,
    themeId: readThemeName(body.themeId, note),
    language: readLanguage(body.language, client, note),
    timeoutMs: timeoutMs === undefined ? null : Number(timeoutMs),
    arms: body.experiments === undefined ? null : readArms(body.experiments, isSet(body.dev), note),
    custom: consent ? custom : none,
  };
}

const none: ReadonlyMap<string, string> = new Map();

/** Maximum number of experiment arms that a dev fetch may select. */
const maxNamedArms = 50;

function readArms(requested: unknown, isTest: boolean, note: Note): Map<string, string> | null {
  const path = '/experiments';
  if (typeof requested !== 'object' || requested === null || Array.isArray(requested))
    note(path, problem('armsNoObject'));
  else if (!isTest) note(path, problem('armsOfTests'));
  else {
    const arms = Object.entries(requested).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return new Map(arms.slice(0, maxNamedArms));
  }
  return null;
}

/** Adds current field names to a body that uses old ones. */
function withNewRequestNames<Body extends Record<string, unknown>>(body: Body): Body {
  let renamed: Record<string, unknown> = body;
  for (const [old, name] of renames) {
    if (body[old] === undefined || body[name] !== undefined) continue;
    renamed = { ...renamed, [name]: renamed[name] ?? body[old] };
  }
  return renamed as Body;
}

/** Returns the languages in the body, or else those in the `Accept-Language` header, or null if none exists. */
function readLanguage(sent: string | undefined, { acceptLanguage }: Client, note: Note): Wanted | null {
  if (sent !== undefined) {
    // Some clients send a whole `Accept-Language` header in this field.
    const preferred = /[,;]/.test(sent) ? acceptedLanguages(sent) : wantedTag(sent);
    if (preferred !== null) return preferred;
    note('/language', noLanguage);
  }
  if (acceptLanguage === undefined) return null;
  const accepted = acceptedLanguages(acceptLanguage);
  if (accepted === null && !/^[\s*]*(;.*)?$/.test(acceptLanguage))
    note('/headers/accept-language', problem('acceptLanguageIgnored'));
  return accepted;
}

/**
 * Returns the normalised placement name, or the default if the request contains no readable name.
 * @throws AppError missing_placement
 */
function readPlacement(sent: string | number | undefined, defaultPlacement: string | null, note: Note): string {
  const normalised = sent === undefined ? '' : normaliseName(String(sent));
  // Check the length again, because some letters become two characters in lower case.
  const isTooLong = normalised.length > maxPlacementLength && [...normalised].length > maxPlacementLength;
  if (normalised !== '' && !isTooLong) return normalised;
  if (isTooLong) note('/placement', problem('longIgnored', { max: maxPlacementLength }));
  if (defaultPlacement === null || defaultPlacement === '')
    throw new AppError('missing_placement', { details: [{ path: '/placement', message: problem('isRequired') }] });
  if (sent !== undefined && !isTooLong) note('/placement', problem('emptyIgnored'));
  return defaultPlacement;
}

/** Returns the IP address without a port, which some proxies append. If null, the address of the connection is used. */
function readAddress(sent: string | undefined, note: Note): string | null {
  const text = textOrNull(sent);
  if (text === null || text.toLowerCase() === 'auto') return null;
  if (isIP(text) !== 0) return text;
  const [, address = ''] = /^\[?([^\]]+?)\]?(?::\d{1,5})?$/.exec(text) ?? [];
  if (isIP(address) !== 0) return address;
  note('/ip', noAddress);
  return null;
}

/**
 * Returns the requested campaign ID, or null if none exists. A number above the highest possible ID is treated as an
 * unknown campaign.
 */
function readCampaignId(sent: string | undefined, note: Note): number | null {
  if (sent === undefined) return null;
  const text = sent.trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  note('/querystring/campaignId', problem('campaignIgnored'));
  return null;
}

/** Returns the upper-case alpha-2 country code, or null if it is absent or unknown. */
function readCountry(code: unknown, note: Note): string | null {
  if (code === undefined || code === '') return null;
  const country = typeof code === 'string' ? countryOf(code) : null;
  if (country === null) note('/country', problem('countryIgnored'));
  return country;
}

export function readThemeName(theme: unknown, note: Note, path = '/themeId'): string | null {
  if (theme === undefined || theme === null) return null;
  if (typeof theme === 'string' || typeof theme === 'number') return textOrNull(theme);
  note(path, problem('noThemeId'));
  return null;
}

/**
 * Reads custom attributes as text. Arrays and objects become JSON. Values that cannot be stored are dropped, with a
 * notice (docs/reference/fetch-offers.md#request-body).
 * @throws AppError invalid_request for reserved names
 */
function readCustomAttributes(body: Readonly<Record<string, unknown>>, note: Note): Map<string, string> {
  const custom = new Map<string, string>();
  const details: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (knownKeys.has(name) || value === null || value === undefined) continue;
    const isStructured = typeof value === 'object';
    const text = (isStructured ? JSON.stringify(value) : String(value)).toWellFormed();
    const path = `/${name.slice(0, 64)}`;
    const isTooLong = text.length > maxAttributeLength && [...text].length > maxAttributeLength;
    if (refusedAttributeNames.has(name)) details.push({ path, message: problem('attributeRefused') });
    else if (!attributeNamePattern.test(name)) note(path, problem('attributeNameDropped'));
    else if (isTooLong && isStructured) note(path, problem('attributeDropped', { max: maxAttributeLength }));
    else if (isTooLong) note(path, problem('attributeTextDropped', { max: maxAttributeLength }));
    else if (text.includes('\0')) note(path, problem('attributeNulDropped'));
    else if (custom.size >= maxAttributes) note(path, problem('attributesDropped', { max: maxAttributes }));
    else custom.set(name, text);
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return custom;
}
