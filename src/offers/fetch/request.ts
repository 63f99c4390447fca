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
import type { Notices } from '../notices/notices.ts';
import { keepToKey } from './limited-key.ts';
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

/** Errors reported at most (count). */
const maxDetails = 20;

const isSet = (value: unknown): boolean => value === '1' || value === 1 || value === true;

/** Says that a field of a request was ignored or dropped, and why; `path` as in the details of an error. */
export type Note = (path: string, message: string) => void;

/** What the connection says about the client. */
export type Client = { ip: string; userAgent: string; gpc: boolean; acceptLanguage?: string | undefined };

export const clientOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): Client => ({
  ip,
  userAgent: headers['user-agent'] ?? '',
  gpc: headers['sec-gpc'] === '1',
  acceptLanguage: headers['accept-language'],
});

/** `false` may be sent as text. */
const isConsentRefused = (consent: unknown): boolean =>
  consent === '0' || consent === 0 || consent === false || consent === 'false';

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

/** Makes notices of what is ignored or dropped of a request. */
export const noticesOf =
  (request: FastifyRequest, notices: Notices): Note =>
  (path, message) => {
    notices.add(callerOf(request).publisher.id, { path, message }, false);
    request.notes = [...(request.notes ?? []), { path, message }];
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
  const placement = normaliseName(body.placement ?? '') || (defaultPlacement ?? '');
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
    emailSha256: consent ? (body.email_sha256?.toLowerCase() ?? null) : null,
    dev: isSet(body.dev),
    loyalty: query.loyaltyboost === '2' ? 'only' : query.loyaltyboost === '1' ? 'also' : 'none',
    onlyWithCreative: isSet(query.creative ?? body.creative),
    campaignId: query.campaignId === undefined ? null : Number(query.campaignId),
    count: null,
    themeId: readThemeName(body.themeId, note),
    language: readLanguage(body.language, client),
    timeoutMs: timeoutMs === undefined ? null : Number(timeoutMs),
    arms: body.experiments === undefined ? null : readArms(body.experiments, isSet(body.dev), note),
    custom: readCustomAttributes(given, note),
  };
}

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

/**
 * As the body says, else as the client accepts.
 * @throws AppError invalid_request
 */
function readLanguage(given: string | undefined, { acceptLanguage }: Client): Wanted | null {
  if (given === undefined) return acceptLanguage === undefined ? null : acceptedLanguages(acceptLanguage);
  const wanted = wantedTag(given);
  if (wanted !== null) return wanted;
  const details = [{ path: '/language', message: 'must be a BCP 47 tag, such as de or pt-BR' }];
  throw new AppError('invalid_request', { details });
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
 * The publisher's own attributes as text; lists and objects as JSON. What is too much is dropped and noted: attributes
 * beyond the fiftieth, and lists and objects beyond 512 characters (docs/interface.md#request-body).
 * @throws AppError invalid_request for names and texts that are not allowed
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
      details.push({ path, message: 'must have 1 to 64 characters of A–Z a–z 0–9 _ . -' });
    else if (isTooLong && isStructured)
      note(path, `dropped: as JSON it has more than ${maxAttributeLength} characters`);
    else if (isTooLong) details.push({ path, message: `must have at most ${maxAttributeLength} characters` });
    else if (text.includes('\0')) details.push({ path, message: 'must not hold a NUL character' });
    else if (custom.size >= maxAttributes)
      note(path, `dropped: there are more than ${maxAttributes} custom attributes`);
    else custom.set(name, text);
  }
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, maxDetails) });
  return custom;
}
