import type { Config } from '../../config.ts';
import type { Recorder } from '../recorder.ts';
import type { TrackedRequest } from '../verify-token.ts';
import type { ClickCoupons } from './click-coupons.ts';
import { createClickIdCodec } from './click-id.ts';
import { createSessionAlias, fillLanding, parseLanding } from './landing.ts';

/**
 * Handles a click: stores it if it must be recorded, and issues its coupon code.
 * @returns the landing page URL
 */
export type FollowClick = (tracked: TrackedRequest) => Promise<string>;

export function createFollowClick({ tokenKeys }: Config, recorder: Recorder, coupons: ClickCoupons): FollowClick {
  const clickIds = createClickIdCodec(tokenKeys);
  const aliasOf = createSessionAlias(tokenKeys);
  return async (tracked) => {
    const { event, offer, recorded } = tracked;
    const [{ claims }, { campaign }] = [event, offer];
    const landing = parseLanding(campaign.landingUrl);
    if (landing === null) throw new Error(`campaign ${campaign.id} has no usable landing page`);
    const wantsSession = landing.needsSession && claims.sessionId !== null;
    const session =
      recorded || wantsSession ? await recorder.click({ recorded, wantsSession, ...event }, campaign) : null;
    const coupon = offer.coupon === null ? null : await coupons.codeOf(tracked, landing);
    return fillLanding(landing, campaign.clickIdParam, {
      click_id: clickIds.mint({ sessionId: event.sessionId, offerId: claims.offerId }),
      session_id: claims.sessionId && aliasOf(claims.sessionId, claims.campaignId),
      placement: session?.placement ?? null,
      coupon_code: coupon,
      offer_id: claims.offerId,
      campaign_id: claims.campaignId,
      publisher_id: claims.publisherId,
    });
  };
}
