import type pg from 'pg';
import type { Offer } from '../catalog/types.ts';
import type { Executor } from '../db/pool.ts';
import type { OptOuts } from '../decision/choose.ts';
import { sessionDay } from '../session-id.ts';
import type { MacroValues } from './macros.ts';

/** One answered fetch, as it is kept. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  userKey: string | null;
  pubUserId: string | null;
  country: string | null;
  offers: readonly Offer[];
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** The opt-outs of many users in one statement. */
export async function loadOptOuts(executor: Executor, userKeys: readonly string[]): Promise<Map<string, OptOuts>> {
  if (userKeys.length === 0) return new Map();
  const { rows } = await executor.query<{ user_key: string; opt_outs: OptOuts }>({
    name: 'load_opt_outs',
    text: 'select user_key, opt_outs from user_history where user_key = any($1::uuid[])',
    values: [`{${userKeys.join(',')}}`],
  });
  return new Map(rows.map((row) => [row.user_key, row.opt_outs]));
}

const insertSql = `
insert into sessions (day, id, publisher_id, placement, theme_id, user_key, pub_user_id, country, offer_ids, campaign_ids,
  custom, macros, dev, usp, usp_check_all, created_at)
select day, id, publisher_id, placement, theme_id, user_key, pub_user_id, country, offer_ids::integer[], campaign_ids::integer[],
  custom::jsonb, macros::jsonb, dev, usp, usp_check_all, to_timestamp(created_at_ms / 1000.0)
from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::integer[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[],
  $11::text[], $12::text[], $13::boolean[], $14::boolean[], $15::boolean[], $16::bigint[])
  as s (day, id, publisher_id, placement, theme_id, user_key, pub_user_id, country, offer_ids, campaign_ids,
    custom, macros, dev, usp, usp_check_all, created_at_ms)`;

/** Writes many sessions in one statement. */
export async function insertSessions(executor: Executor, sessions: readonly SessionRecord[]): Promise<pg.QueryResult> {
  const column = <T>(pick: (session: SessionRecord) => T): T[] => sessions.map(pick);
  /** Texts that need no quoting become an array literal without going through the driver's escaping. */
  const literal = (pick: (session: SessionRecord) => string | number | boolean | null): string =>
    `{${sessions.map((session) => pick(session) ?? 'null').join(',')}}`;
  return executor.query({
    name: 'insert_sessions',
    text: insertSql,
    values: [
      literal((s) => sessionDay(s.id)),
      literal((s) => s.id),
      literal((s) => s.publisherId),
      column((s) => s.placement),
      literal((s) => s.themeId),
      literal((s) => s.userKey),
      column((s) => s.pubUserId),
      literal((s) => s.country),
      column((s) => `{${s.offers.map((offer) => offer.id).join(',')}}`),
      column((s) => `{${s.offers.map((offer) => offer.campaign.id).join(',')}}`),
      column((s) => (s.custom.size === 0 ? null : JSON.stringify(Object.fromEntries(s.custom)))),
      column((s) => (Object.keys(s.macros).length === 0 ? null : JSON.stringify(s.macros))),
      literal((s) => s.dev),
      literal((s) => s.usp),
      literal((s) => s.uspCheckAll),
      literal((s) => s.createdAtMs),
    ],
  });
}
