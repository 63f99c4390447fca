import type { FindSavedPerk } from '../../messages/send.ts';
import { savedUntilMs } from './saved-until.ts';
import { createWalletService, type WalletDeps } from './service.ts';

/** What reminders of saved offers say: as the wallet shows them by then. */
export function createSavedPerkFinder(deps: WalletDeps): FindSavedPerk {
  const wallet = createWalletService(deps);
  return async (publisherId, pubUserId, offerId) => {
    const saved = await wallet.list(await wallet.ownerOf(publisherId, pubUserId));
    const found = saved.find(({ item, state }) => item.offerId === offerId && state === 'active');
    const offer = deps.catalog.current().offers.get(offerId);
    if (found === undefined || offer === undefined) return null;
    const endsAtMs = savedUntilMs(offer, found.coupon);
    if (endsAtMs === null) return null;
    const { title, short_headline, description, advertiser_name: advertiser, click_url: url } = found.view;
    const texts = { title: title || short_headline, description, advertiser, url };
    const coupon = found.coupon ?? undefined;
    return { perk: { ...texts, coupon, endsAt: new Date(endsAtMs).toISOString() }, endsAtMs };
  };
}
