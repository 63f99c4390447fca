import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { dayOf } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';

/** Impression of a user, with the dimensions of its session. */
export type Impression = {
  sessionId: string;
  atMs: number;
  placement: string;
  offerId: number;
  campaignId: number;
  country: string;
  device: string;
  os: string;
  plan: string;
  userKey: string | null;
};

/** Returns an impression with a new session. */
export const impression = (fields: Partial<Impression> & { atMs: number }): Impression => ({
  sessionId: newUuid7(fields.atMs),
  placement: 'checkout',
  offerId: 1,
  campaignId: 1,
  country: 'DE',
  device: 'mobile',
  os: 'ios',
  plan: 'gold',
  userKey: randomUUID(),
  ...fields,
});

/** Stores sessions with one impression each, in one transaction. */
export async function storeImpressions(
  pool: pg.Pool,
  publisherId: number,
  impressions: readonly Impression[],
): Promise<void> {
  await pool.query(
    `with rows as (
      select * from jsonb_to_recordset($2) as row ("sessionId" uuid, day date, at timestamptz, placement text,
        "offerId" integer, "campaignId" integer, country text, device text, os text, plan text, "userKey" uuid)
    ), stored as (
      insert into sessions (day, id, publisher_id, placement, user_key, country, device, os, offer_ids, campaign_ids,
        custom, dev, usp, usp_check_all, created_at)
      select day, "sessionId", $1, placement, "userKey", country, device, os, array["offerId"], array["campaignId"],
        jsonb_build_object('plan', plan), false, false, false, at from rows
    )
    insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select day, "sessionId", "offerId", 'impression', $1, "campaignId", 1, at from rows`,
    [
      publisherId,
      JSON.stringify(
        impressions.map((row) => ({ ...row, day: dayOf(row.atMs), at: new Date(row.atMs).toISOString() })),
      ),
    ],
  );
}
