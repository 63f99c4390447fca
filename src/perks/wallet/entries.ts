import { eventKinds } from '../../catalog/event-kinds.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import { isKnownTo, isServedTo, phaseOf } from '../../catalog/snapshot/provisioning.ts';
import { fillCopy } from '../../offers/render/macros.ts';
import { buildOfferView, clickUrl, type OfferView } from '../../offers/render/view.ts';
import { checkToken } from '../../platform/security/check-tracking-token.ts';
import type { TokenClaims } from '../../platform/security/tracking-token.ts';
import type { WalletItem } from './items.ts';

/** `expired`: paused, removed, or its campaign is over; it stays in the wallet, but leads nowhere any more. */
export type WalletState = 'active' | 'expired';

/** A saved offer as it is shown. */
export type WalletEntry = {
  /** With an empty QR code; `qrUrl` is what it would hold. */
  view: OfferView;
  qrUrl: string;
  savedAt: Date;
  state: WalletState;
};

type EntriesDeps = Pick<CatalogDeps, 'catalog' | 'tokens' | 'config' | 'now'>;

/**
 * What saved offers look like now. Of one that is gone for good (removed more than a month ago) nothing is left to
 * show.
 */
export function createEntries({
  catalog,
  tokens,
  config,
  now,
}: EntriesDeps): (items: readonly WalletItem[]) => WalletEntry[] {
  const { publicUrl } = config;
  return (items) => {
    const { offers, publishers } = catalog.current();
    return items.flatMap((item) => {
      const { publisherId, campaignId, offerId, sessionId, position } = item;
      const offer = offers.get(offerId);
      const publisher = publishers.get(publisherId);
      if (offer === undefined || publisher === undefined || !isKnownTo(offer, publisherId)) return [];
      const stable: TokenClaims = { publisherId, sessionId: null, offerId, campaignId, position: 0, dev: false };
      const ofSession = { ...stable, sessionId, position };
      // Clicks belong to the session of the save while its token is good for one; later to none, like those of a QR
      // code.
      const token = tokens.mint(checkToken(ofSession, now(), eventKinds.click.token) ? ofSession : stable);
      const copy = fillCopy(offer.copy, item.macros);
      const view = buildOfferView({ offer, publisher, copy, token, hasUser: true, qrCode: '', publicUrl });
      return [
        {
          view,
          qrUrl: clickUrl(publicUrl, tokens.mint(stable)),
          savedAt: item.savedAt,
          state: isServedTo(offer, publisherId) && phaseOf(offer.campaign, now()) !== 'over' ? 'active' : 'expired',
        },
      ];
    });
  };
}
