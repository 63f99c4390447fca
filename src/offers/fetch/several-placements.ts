import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../accounts/caller.ts';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { problem } from '../../platform/problem.ts';
import { keepToKey } from './limited-key.ts';
import { type FetchOffersRequest, notesOf, noteUnknownTheme, readThemeName, readWithNotes } from './request.ts';
import { type FetchBody, type FetchOffersQuery, maxCallPlacements } from './request-schema.ts';
import type { Note } from './tolerant-input.ts';

/** Placements of a call, by the names used in the call, with a request for each. */
export type SeveralPlacements = readonly [PlacementRequest, ...PlacementRequest[]];

type PlacementRequest = { name: string; request: FetchOffersRequest };

/**
 * Reads the list of placements in the call of an authenticated caller. Unreadable entries and members are ignored with
 * a notice. Returns null if the call has no such list.
 * @throws AppError errors of `readFetchOffers`
 */
export function readSeveralPlacements(
  request: FastifyRequest,
  query: FetchOffersQuery,
  { placements: sent, ...body }: FetchBody,
): SeveralPlacements | null {
  if (sent === undefined) return null;
  const note = notesOf(request);
  const entries = readEntries(sent, note);
  const [first] = entries;
  if (first === undefined) return null;
  const shared = readWithNotes(request, query, { ...body, placement: first.placement });
  const { publisher, key } = callerOf(request);
  const resources = key?.restrictions?.resources ?? null;
  const placements = entries.map(({ name, placement, count, theme, path }): PlacementRequest => {
    const themePath = `${path}/theme_id`;
    const themeId = readThemeName(theme, note, themePath);
    const own = noteUnknownTheme(publisher, themeId, note, themePath) ? null : themeId;
    const placementRequest = { ...shared, placement, count, themeId: own ?? shared.themeId };
    return { name, request: resources === null ? placementRequest : keepToKey(resources, placementRequest) };
  });
  return placements as [PlacementRequest, ...PlacementRequest[]];
}

type Entry = {
  /** Placement name as in the call. */
  name: string;
  /** Normalised placement name. */
  placement: string;
  count: number | null;
  theme: unknown;
  path: string;
};

const members: ReadonlySet<string> = new Set(['name', 'count', 'theme_id']);

function readEntries(sent: unknown, note: Note): Entry[] {
  if (!Array.isArray(sent)) {
    note('/placements', problem('placementsIgnored'));
    return [];
  }
  if (sent.length === 0) note('/placements', problem('emptyIgnored'));
  if (sent.length > maxCallPlacements) note('/placements', problem('placementsBeyond', { max: maxCallPlacements }));
  const entries: Entry[] = [];
  for (const [index, value] of sent.slice(0, maxCallPlacements).entries()) {
    const path = `/placements/${index}`;
    const entry = readEntry(value, path, note);
    if (entry === null) continue;
    if (entries.some(({ placement }) => placement === entry.placement)) note(`${path}/name`, problem('placementTwice'));
    else entries.push(entry);
  }
  return entries;
}

function readEntry(value: unknown, path: string, note: Note): Entry | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    note(path, problem('placementNoObject'));
    return null;
  }
  const { name: sentName, count, theme_id: theme } = value as Record<string, unknown>;
  const name = typeof sentName === 'number' ? String(sentName) : sentName;
  const placement = typeof name === 'string' && !name.includes('\0') ? normaliseName(name) : '';
  if (placement === '' || [...placement].length > maxPlacementLength) {
    note(`${path}/name`, problem('placementNoName', { max: maxPlacementLength }));
    return null;
  }
  if (Object.keys(value).some((member) => !members.has(member)))
    note(path, problem('placementMembers', { names: [...members].join(', ') }));
  return { name: name as string, placement, count: readCount(count, `${path}/count`, note), theme, path };
}

function readCount(value: unknown, path: string, note: Note): number | null {
  if (value === undefined) return null;
  const count = typeof value === 'string' && /^[0-9]{1,2}$/.test(value) ? Number(value) : value;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= maxCount) return count;
  note(path, problem('countIgnored', { max: maxCount }));
  return null;
}

/** Maximum number of offers per placement, the same as for `offersPerResponse`. */
const maxCount = 10;
