import type { Executor } from '../platform/db/pool.ts';
import { dayOfUuid7 } from '../platform/lib/uuid7.ts';
import type { ClickIdCodec } from './clicks/click-id.ts';

/** Advertiser's click, as the conversion API would find it. */
type FoundClick = { offerId: number; at: Date; suspicious: string | null };

/**
 * Looks up a click by its ID without booking anything. Returns null if the ID is unknown or if the click belongs to
 * another advertiser.
 */
export type TestClick = (executor: Executor, clickId: string, advertiserId: number) => Promise<FoundClick | null>;

export const createTestClick =
  (codec: ClickIdCodec): TestClick =>
  async (executor, clickId, advertiserId) => {
    const click = codec.read(clickId);
    if (click === null) return null;
    const { rows } = await executor.query<{ at: Date; suspicious: string | null }>(
      `select e.at, e.suspicious from events e join campaigns c on c.id = e.campaign_id
      where e.day = $1 and e.session_id = $2 and e.offer_id = $3 and e.kind = 'click' and c.advertiser_id = $4`,
      [dayOfUuid7(click.sessionId), click.sessionId, click.offerId, advertiserId],
    );
    return rows[0] === undefined ? null : { offerId: click.offerId, ...rows[0] };
  };
