import type { FastifyRequest } from 'fastify';
import { maxPlacementLength, normalisePlacement } from '../../catalog/snapshot/placement-name.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { textOrNull } from '../../platform/lib/text-or-null.ts';
import { oldRequestNames, withNewRequestNames } from '../render/legacy-names.ts';
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
  themeId: number | null;
  /** The answer is due this long after the request came; null: whenever it is ready. */
  timeoutMs: number | null;
  /** The publisher's own attributes, as text. */
  custom: ReadonlyMap<string, string>;
};

const knownKeys = new Set([...Object.keys(fetchOffersBody.properties), ...oldRequestNames]);
const customKeyPattern = /^[A-Za-z0-9_.-]{1,64}$/;
const refusedKeys = new Set(['__proto__', 'constructor', 'prototype']);
const maxCustomKeys = 50;
const maxCustomLength = 512;

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
 * @throws AppError missing_placement, pub_user_id_is_pii, invalid_request
 */
export function readFetchOffers(query: FetchOffersQuery, given: FetchOffersBody, client: Client): FetchOffersRequest {
  const body = withNewRequestNames(given);
  const placement = normalisePlacement(body.placement ?? '');
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
  const themeId = Number(body.themeId || Number.NaN);
  const consent = !client.gpc && !isConsentRefused(body.consent);
  const timeoutMs = query.timeout_ms ?? body.timeout_ms;
  return {
    placement,
    userAgent: textOrNull(body.ua) ?? client.userAgent,
    ip: ip === null || ip.toLowerCase() === 'auto' ? client.ip : ip,
    country: (textOrNull(body.country) ?? textOrNull(query.country))?.toUpperCase() ?? null,
    consent,
    adFp: consent ? textOrNull(body.ad_fp) : null,
    pubUserId: consent ? pubUserId : null,
    dev: isSet(body.dev),
    loyalty: query.loyaltyboost === '2' ? 'only' : query.loyaltyboost === '1' ? 'also' : 'none',
    onlyWithCreative: isSet(query.creative ?? body.creative),
    campaignId: query.campaignId === undefined ? null : Number(query.campaignId),
    themeId: Number.isNaN(themeId) ? null : themeId,
    timeoutMs: timeoutMs === undefined ? null : Number(timeoutMs),
    custom: readCustomKeys(given),
  };
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

function readCustomKeys(body: Record<string, unknown>): Map<string, string> {
  const custom = new Map<string, string>();
  const details: ErrorDetail[] = [];
  for (const [key, value] of Object.entries(body)) {
    if (knownKeys.has(key) || value === null || value === undefined) continue;
    const asText = (
      typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
    ).toWellFormed();
    if (refusedKeys.has(key)) details.push({ path: `/${key}`, message: 'is a refused name' });
    else if (!customKeyPattern.test(key))
      details.push({ path: `/${key.slice(0, 64)}`, message: 'must have 1 to 64 characters of A–Z a–z 0–9 _ . -' });
    else if (asText.length > maxCustomLength && [...asText].length > maxCustomLength)
      details.push({ path: `/${key}`, message: `must have at most ${maxCustomLength} characters` });
    else if (asText.includes('\0')) details.push({ path: `/${key}`, message: 'must not hold a NUL character' });
    else custom.set(key, asText);
  }
  if (custom.size > maxCustomKeys)
    details.push({ path: '/', message: `must have at most ${maxCustomKeys} custom keys` });
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, 20) });
  return custom;
}
