import type { Executor } from '../../platform/db/pool.ts';
import { wantedOf } from '../../platform/i18n/reader.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { Client, FetchOffersRequest } from '../fetch/request.ts';
import type { MacroValues } from '../offer-view.ts';

/** Data from an earlier session that an offerwall needs. */
export type WallSession = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  userKey: string | null;
  pubUserId: string | null;
  country: string | null;
  /** Language stored in the session. */
  language: string | null;
  /** Offer IDs in the order in which the session shows them. */
  offerIds: readonly number[];
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
};

type WallSessionRow = {
  placement: string;
  theme_id: number | null;
  user_key: string | null;
  pub_user_id: string | null;
  country: string | null;
  language: string | null;
  offer_ids: number[];
  custom: Record<string, string> | null;
  macros: Record<string, string> | null;
  dev: boolean;
};

/** Finds a session of a publisher. Returns null if none exists. */
export async function findWallSession(
  executor: Executor,
  publisherId: number,
  id: string,
): Promise<WallSession | null> {
  const { rows } = await executor.query<WallSessionRow>({
    name: 'find_wall_session',
    text: `select placement, theme_id, user_key, pub_user_id, country, language, offer_ids, custom, macros, dev
      from sessions where day = $1::date and id = $2::uuid and publisher_id = $3`,
    values: [dayOfUuid7(id), id, publisherId],
  });
  const [row] = rows;
  if (row === undefined) return null;
  return {
    id,
    publisherId,
    placement: row.placement,
    themeId: row.theme_id,
    userKey: row.user_key,
    pubUserId: row.pub_user_id,
    country: row.country,
    language: row.language,
    offerIds: row.offer_ids,
    custom: new Map(Object.entries(row.custom ?? {})),
    macros: row.macros ?? {},
    dev: row.dev,
  };
}

/** Builds a request from a stored session and the device that opens the link. */
export const requestLike = (session: WallSession, { ip, userAgent, gpc }: Client): FetchOffersRequest => ({
  placement: session.placement,
  userAgent,
  ip,
  country: session.country,
  consent: !gpc,
  adFp: null,
  pubUserId: gpc ? null : session.pubUserId,
  emailSha256: null,
  language: session.language === null ? null : wantedOf(session.language),
  timeoutMs: null,
  dev: session.dev,
  loyalty: 'also',
  onlyWithCreative: false,
  campaignId: null,
  count: null,
  themeId: session.themeId === null ? null : String(session.themeId),
  arms: null,
  custom: session.custom,
});
