import { eventKinds } from '../../catalog/event-kinds.ts';
import { isKnownTo, isServedTo, phaseOf } from '../../catalog/provisioning.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Config } from '../../config.ts';
import type { Coupon } from '../../coupons/coupon.ts';
import type { CouponIssuer } from '../../coupons/issuer.ts';
import { clickUrl, type OfferView, offerAt, sharedCouponOf } from '../../offers/offer-view.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { checkToken, type TokenClaims, type TokenCodec } from '../../platform/security/tracking-token.ts';
import { renderShown } from '../confirmed-perk.ts';
import type { WalletItem } from '../wallet-items.ts';

/**
 * State of a saved offer. `expired` means that the offer is paused or removed, or that its campaign has ended. An
 * expired offer stays in the wallet without a link.
 */
type WalletState = 'active' | 'expired';

/** Saved offer as displayed in the wallet. */
export type SavedOffer = {
  item: WalletItem;
  /** Offer view without the QR code, whose target is `qrUrl`. */
  view: OfferView;
  qrUrl: string;
  savedAt: Date;
  state: WalletState;
  /** The user's coupon, or null if none exists. */
  coupon: Coupon;
};

/** Dependencies for building saved offers. `now` returns epoch milliseconds. */
type SavedOfferDeps = { catalog: CatalogStore; tokens: TokenCodec; config: Config; now: () => number };

/**
 * Creates a function that builds saved offers from the current catalogue. It omits offers that were removed more than a
 * month ago.
 */
export function createSavedOffers({
  catalog,
  tokens,
  config,
  now,
}: SavedOfferDeps): (items: readonly WalletItem[]) => SavedOffer[] {
  const { publicUrl } = config;
  return (items) => {
    const { offers, publishers } = catalog.current();
    return items.flatMap((item) => {
      const { publisherId, campaignId, offerId, sessionId, position } = item;
      const catalogueOffer = offers.get(offerId);
      const publisher = publishers.get(publisherId);
      if (catalogueOffer === undefined || publisher === undefined || !isKnownTo(catalogueOffer, publisherId)) return [];
      const offer = offerAt(catalogueOffer, now());
      const qrClaims: TokenClaims = { publisherId, sessionId: null, offerId, campaignId, position: 0, dev: false };
      const sessionClaims = { ...qrClaims, sessionId, position };
      // Clicks are attributed to the session in which the offer was saved, as long as its token is valid. After that,
      // the link uses the QR code token, which belongs to no session.
      const token = tokens.mint(checkToken(sessionClaims, now(), eventKinds.click.token) ? sessionClaims : qrClaims);
      const { language, macros } = item;
      const view = renderShown(offer, { publisher, language, macros, token, hasUser: true, publicUrl });
      return [
        {
          item,
          view,
          qrUrl: clickUrl(publicUrl, tokens.mint(qrClaims)),
          savedAt: item.savedAt,
          coupon: sharedCouponOf(offer, now()),
          state: isServedTo(offer, publisher) && phaseOf(offer.campaign, now()) !== 'over' ? 'active' : 'expired',
        },
      ];
    });
  };
}

type CouponDeps = { pool: Executor; catalog: CatalogStore; coupons: CouponIssuer; now: () => number };

/** Adds the user's coupons to saved offers. */
export async function withCoupons(
  { pool, catalog, coupons, now }: CouponDeps,
  saved: readonly SavedOffer[],
): Promise<readonly SavedOffer[]> {
  const { offers } = catalog.current();
  const wants = saved.flatMap(({ item }) => {
    const offer = offers.get(item.offerId);
    return offer === undefined || offer.coupon === null ? [] : [{ ...item, offer, dev: false }];
  });
  if (wants.length === 0) return saved;
  const userCoupons = await coupons.find(pool, wants, now());
  const byOffer = new Map(wants.map(({ offerId }, index) => [offerId, userCoupons[index] ?? null]));
  return saved.map((savedOffer) => ({
    ...savedOffer,
    coupon: byOffer.get(savedOffer.item.offerId) ?? savedOffer.coupon,
  }));
}
