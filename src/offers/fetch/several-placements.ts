import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../accounts/caller.ts';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import type { Notices } from '../notices/notices.ts';
import { keepToKey } from './limited-key.ts';
import { type FetchOffersRequest, noteUnknownTheme, noticesOf, readThemeName, readWithNotices } from './request.ts';
import type { FetchBody, FetchOffersQuery, PlacementsOfCall } from './request-schema.ts';

/** The placements of one call, by their names as given, with what is asked for at each. */
export type SeveralPlacements = readonly [PlacementRequest, ...PlacementRequest[]];

type PlacementRequest = { name: string; request: FetchOffersRequest };

/**
 * Reads a call of an identified caller, whose query and body are checked against their schemas.
 * @throws AppError as `readFetchOffers`; invalid_request for a placement that has no name, or that of another
 */
export function readSeveralPlacements(
  request: FastifyRequest,
  query: FetchOffersQuery,
  { placements: given, ...body }: FetchBody & { placements: PlacementsOfCall },
  notices: Notices,
): SeveralPlacements {
  const names = readNames(given);
  const shared = readWithNotices(request, query, { ...body, placement: names[0] as string }, notices);
  const { publisher, key } = callerOf(request);
  const resources = key?.restrictions?.resources ?? null;
  const note = noticesOf(request, notices);
  const placements = given.map(({ name, count = null, theme_id: theme }, index): PlacementRequest => {
    const path = `/placements/${index}/theme_id`;
    const themeId = readThemeName(theme, note, path);
    const own = noteUnknownTheme(publisher, themeId, note, path) ? null : themeId;
    const one = { ...shared, placement: names[index] as string, count, themeId: own ?? shared.themeId };
    return { name, request: resources === null ? one : keepToKey(resources, one) };
  });
  return placements as [PlacementRequest, ...PlacementRequest[]];
}

/** The names as placements are known by them. */
function readNames(given: readonly { name: string }[]): string[] {
  const names: string[] = [];
  const details: ErrorDetail[] = [];
  for (const [index, { name: text }] of given.entries()) {
    const name = normaliseName(text);
    const path = `/placements/${index}/name`;
    if (name === '') details.push({ path, message: 'is required' });
    else if ([...name].length > maxPlacementLength)
      details.push({ path, message: `must have at most ${maxPlacementLength} characters` });
    else if (names.includes(name)) details.push({ path, message: 'is given twice' });
    names.push(name);
  }
  if (details.length > 0) throw new AppError('invalid_request', { details });
  return names;
}
