import type { OfferView } from '../../offers/offer-view.ts';

export type WalletEvent = 'offer_saved' | 'offer_removed';

type Told = { event: WalletEvent; item: { pubUserId: string; offerId: number }; atMs: number };

/**
 * The bytes of a wallet webhook (docs/interface.md#wallet): the offer as its user saw it. `view` null: the catalogue no
 * longer knows it, so its texts are empty. Pure.
 */
export function buildWalletPayload({ event, item, atMs }: Told, view: OfferView | null): Buffer {
  return Buffer.from(
    JSON.stringify({
      event,
      pub_user_id: item.pubUserId,
      offer_id: item.offerId,
      advertiser_name: view?.advertiser_name ?? '',
      headline: view?.title ?? '',
      short_headline: view?.short_headline ?? '',
      description: view?.description ?? '',
      short_description: view?.short_description ?? '',
      mini_text: view?.mini_text ?? '',
      click_url: view?.click_url ?? '',
      image: view?.image ?? '',
      cta_yes: view?.cta_yes ?? '',
      cta_no: view?.cta_no ?? '',
      tnc: view?.terms_and_conditions ?? '',
      timestamp: new Date(atMs).toISOString(),
    }),
  );
}
