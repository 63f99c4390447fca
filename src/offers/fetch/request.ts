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
import { findTheme } from '../../catalog/theme-key.ts';
import type { Publisher } from '../../catalog/types.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { textOrNull } from '../../platform/http/body-parsing.ts';
import { acceptedLanguages, type Wanted, wantedTag } from '../../platform/i18n/reader.ts';
import { hasGpc, isUsualConsent, readConsent } from '../../platform/lib/consent.ts';
import type { Notices } from '../notices/notices.ts';
import { keepToKey } from './limited-key.ts';
import { type FetchOffersBody, type FetchOffersQuery, fetchOffersBody } from './request-schema.ts';
import { type Note, noAddress, noLanguage } from './tolerant-input.ts';

/** A validated fetch-offers request. */
export type FetchOffersRequest = {
  /** Normalised: lower case, hyphens. */
  placement: string;
  userAgent: string;
  ip: string;
  /** Upper case, or null when not given. */
  country: string | null;
  /** Whether the end user's identity may be used; else identifiers are null, and there are no custom attributes. */
  consent: boolean;
  adFp: string | null;
  pubUserId: string | null;
  /** SHA-256 of the user's e-mail address, for audiences alone; null also without consent. */
  emailSha256: string | null;
  dev: boolean;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Most offers; null: as placement, theme and publisher have it. */
  count: number | null;
  /** Id or key of a theme, which the publisher may not have. */
  themeId: string | null;
  /** What the end user reads; null: not said. */
  language: Wanted | null;
  /** The answer is due this long after the request came; null: whenever it is ready. */
  timeoutMs: number | null;
  /** Arms that a test names, by experiment; null: none. */
  arms: ReadonlyMap<string, string> | null;
  /** The publisher's own attributes, as text. */
  custom: ReadonlyMap<string, string>;
};

/** Old request field → the field it means. The new spelling wins where both are given. */
const oldRequestNames = { adpx_fp: 'ad_fp', fingerprint: 'ad_fp', user_agent: 'ua', theme_id: 'themeId' } as const;

const renames = Object.entries(oldRequestNames);

const knownKeys = new Set([...Object.keys(fetchOffersBody.properties), ...Object.keys(oldRequestNames)]);

const isSet = (value: unknown): boolean => value === '1' || value === 1 || value === true;

/** What the connection says about the client. */
export type Client = { ip: string; userAgent: string; gpc: boolean; acceptLanguage?: string | undefined };

export const clientOf = ({ ip, headers }: FastifyRequest): Client => ({
  ip,
  userAgent: headers['user-agent'] ?? '',
  gpc: hasGpc(headers['sec-gpc']),
  acceptLanguage: headers['accept-language'],
});

/**
 * Reads a fetch-offers request of an identified caller. What is ignored or dropped of it becomes a notice.
 * @throws AppError as `readFetchOffers`
 */
export function readWithNotices(
  request: FastifyRequest,
  query: FetchOffersQuery,
  body: FetchOffersBody,
  notices: Notices,
): FetchOffersRequest {
  const { publisher, key } = callerOf(request);
  const note = noticesOf(request, notices);
  const read = readFetchOffers(query, body, clientOf(request), note, publisher.defaultPlacement);
  noteUnknownTheme(publisher, read.themeId, note);
  const resources = key?.restrictions?.resources ?? null;
  return resources === null ? read : keepToKey(resources, read);
}

/** Notices of one request (count): a body may have thousands of fields that are dropped. */
const maxNotes = 50;

/** Makes notices of what is ignored or dropped of a request. */
export const noticesOf =
  (request: FastifyRequest, notices: Notices): Note =>
  (path, message) => {
    request.notes ??= [];
    if (request.notes.length >= maxNotes) return;
    request.notes.push({ path, message });
    notices.add(callerOf(request).publisher.id, { path, message }, false);
  };

/** Whether the publisher lacks a theme that a request names. */
export function noteUnknownTheme(publisher: Publisher, themeId: string | null, note: Note, path = '/themeId'): boolean {
  const isUnknown = themeId !== null && findTheme(publisher, themeId) === null;
  if (isUnknown) note(path, 'ignored: there is no theme with this id or key');
  return isUnknown;
}

/**
 * Reads query and body, both already checked against their schemas.
 * @param note is told what of it is ignored or dropped
 * @param defaultPlacement is taken where the body names none
 * @throws AppError missing_placement, pub_user_id_is_pii, invalid_request
 */
export function readFetchOffers(
  query: FetchOffersQuery,
  given: FetchOffersBody,
  client: Client,
  note: Note = () => {},
  defaultPlacement: string | null = null,
): FetchOffersRequest {
  const body = withNewRequestNames(given);
  const placement = readPlacement(body.placement, defaultPlacement, note);
  const pubUserId = textOrNull(body.pub_user_id) ?? textOrNull(query.pub_user_id);
  if (pubUserId !== null && isPii(pubUserId))
    throw new AppError('pub_user_id_is_pii', {
      details: [{ path: '/pub_user_id', message: 'must not be an e-mail address or a phone number' }],
    });
  const custom = readCustomAttributes(given, note);
  const consent = !client.gpc && readConsent(body.consent) !== 'refused';
  if (!isUsualConsent(body.consent)) note('/consent', 'read as refused: no known value');
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

/** Arms of experiments (count) that a test may name. */
const maxNamedArms = 50;

function readArms(given: unknown, isTest: boolean, note: Note): Map<string, string> | null {
  const path = '/experiments';
  if (typeof given !== 'object' || given === null || Array.isArray(given)) note(path, 'ignored: not an object');
  else if (!isTest) note(path, 'ignored: only a test names its arms');
  else {
    const arms = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return new Map(arms.slice(0, maxNamedArms));
  }
  return null;
}

/** A request body in which old field names also stand under their new ones. */
function withNewRequestNames<Body extends Record<string, unknown>>(body: Body): Body {
  let renamed: Record<string, unknown> = body;
  for (const [old, name] of renames) {
    if (body[old] === undefined || body[name] !== undefined) continue;
    renamed = { ...renamed, [name]: renamed[name] ?? body[old] };
  }
  return renamed as Body;
}

/** Languages of the body, else those that the client accepts; null: neither names one. */
function readLanguage(sent: string | undefined, { acceptLanguage }: Client, note: Note): Wanted | null {
  if (sent !== undefined) {
    // Some clients pass on the whole header.
    const wanted = /[,;]/.test(sent) ? acceptedLanguages(sent) : wantedTag(sent);
    if (wanted !== null) return wanted;
    note('/language', noLanguage);
  }
  if (acceptLanguage === undefined) return null;
  const accepted = acceptedLanguages(acceptLanguage);
  if (accepted === null && !/^[\s*]*(;.*)?$/.test(acceptLanguage))
    note('/headers/accept-language', 'ignored: it names no language');
  return accepted;
}

/**
 * The normalised placement, or the default where the call names none that can be read.
 * @throws AppError missing_placement
 */
function readPlacement(sent: string | number | undefined, defaultPlacement: string | null, note: Note): string {
  const named = sent === undefined ? '' : normaliseName(String(sent));
  // Some letters become two in lower case.
  const isTooLong = named.length > maxPlacementLength && [...named].length > maxPlacementLength;
  if (named !== '' && !isTooLong) return named;
  if (isTooLong) note('/placement', `ignored: it has more than ${maxPlacementLength} characters`);
  if (defaultPlacement === null || defaultPlacement === '')
    throw new AppError('missing_placement', { details: [{ path: '/placement', message: 'is required' }] });
  if (sent !== undefined && !isTooLong) note('/placement', 'ignored: empty');
  return defaultPlacement;
}

/** An address, also with a port, as proxies write it; null: the caller's applies. */
function readAddress(sent: string | undefined, note: Note): string | null {
  const text = textOrNull(sent);
  if (text === null || text.toLowerCase() === 'auto') return null;
  if (isIP(text) !== 0) return text;
  const [, address = ''] = /^\[?([^\]]+?)\]?(?::\d{1,5})?$/.exec(text) ?? [];
  if (isIP(address) !== 0) return address;
  note('/ip', noAddress);
  return null;
}

/** An unknown campaign where the number is larger than any id; null: none was named. */
function readCampaignId(sent: string | undefined, note: Note): number | null {
  if (sent === undefined) return null;
  const text = sent.trim();
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  note('/querystring/campaignId', 'ignored: not the id of a campaign');
  return null;
}

/** Upper-case alpha-2; null: none was given, or nothing that names a country. */
function readCountry(given: unknown, note: Note): string | null {
  if (given === undefined || given === '') return null;
  const country = typeof given === 'string' ? countryOf(given) : null;
  if (country === null) note('/country', 'ignored: not a country code of ISO 3166-1 with two or three letters');
  return country;
}

export function readThemeName(given: unknown, note: Note, path = '/themeId'): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given === 'string' || typeof given === 'number') return textOrNull(given);
  note(path, 'ignored: neither the id nor the key of a theme');
  return null;
}

/**
 * The publisher's own attributes as text; lists and objects as JSON. What cannot be kept is dropped and noted
 * (docs/reference/fetch-offers.md#request-body).
 * @throws AppError invalid_request for refused names
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
    if (refusedAttributeNames.has(name)) details.push({ path, message: 'is a refused name' });
    else if (!attributeNamePattern.test(name))
      note(path, 'dropped: the name does not have 1 to 64 characters of A–Z a–z 0–9 _ . -');
    else if (isTooLong && isStructured)
      note(path, `dropped: as JSON it has more than ${maxAttributeLength} characters`);
    else if (isTooLong) note(path, `dropped: it has more than ${maxAttributeLength} characters`);
    else if (text.includes('\0')) note(path, 'dropped: it contains a NUL character');
    else if (custom.size >= maxAttributes)
      note(path, `dropped: there are more than ${maxAttributes} custom attributes`);
    else custom.set(name, text);
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return custom;
}
