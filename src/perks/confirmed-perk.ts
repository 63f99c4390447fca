import { blankOffer, localise } from '../catalog/provisioning.ts';
import type { Offer, Publisher, Snapshot } from '../catalog/types.ts';
import type { Coupon } from '../coupons/coupon.ts';
import { buildOfferView, fillCopy, type MacroValues, type OfferView } from '../offers/offer-view.ts';
import { wantedOf } from '../platform/i18n/reader.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';

/**
 * Offer that the user selected in a session. The webhook, the message and the wrap response each use their own format
 * for it.
 */
export type ConfirmedPerk = {
  /** Claims of the perk's tracking token, which its event also uses. */
  claims: TokenClaims & { sessionId: string };
  /** Offer in the current catalogue, or null if it was removed. */
  offer: Offer | null;
  /** The user's coupon. Null if no code was left, or undefined if the offer has no codes. */
  coupon: Coupon | undefined;
  /** Returns the offer as the user saw it. It is rendered on first use only. */
  view: () => OfferView;
};

/** Session data from which its perks are built. */
export type PerkSession = {
  id: string;
  pubUserId: string | null;
  /** IDs of the shown offers, in display order. The IDs in `campaignIds` are in the same order. */
  offerIds: readonly number[];
  campaignIds: readonly number[];
  macros: MacroValues;
  language: string | null;
  dev: boolean;
};

export type PerkContext = {
  publisher: Publisher;
  offers: Snapshot['offers'];
  tokens: { mint: (claims: TokenClaims) => string };
  /** Origin of all URLs. */
  publicUrl: string;
};

/**
 * Returns the perks for the selected campaigns, in display order and without coupons. Campaigns that the session did
 * not show are ignored.
 */
export const perksOf = (
  session: PerkSession,
  selected: readonly number[],
  { publisher, offers, tokens, publicUrl }: PerkContext,
): ConfirmedPerk[] =>
  session.campaignIds.flatMap((campaignId, index) => {
    if (!selected.includes(campaignId)) return [];
    const { id: sessionId, dev } = session;
    const offerId = session.offerIds[index] ?? 0;
    const claims = { publisherId: publisher.id, sessionId, offerId, campaignId, position: index + 1, dev };
    const offer = offers.get(offerId) ?? null;
    let view: OfferView | null = null;
    const render = (): OfferView =>
      renderShown(offer ?? blankOffer(offerId, campaignId, publisher.id), {
        ...session,
        publisher,
        publicUrl,
        token: tokens.mint(claims),
        hasUser: session.pubUserId !== null,
      });
    return [{ claims, offer, coupon: undefined, view: () => (view ??= render()) }];
  });

type ShownContext = {
  publisher: Publisher;
  /** Requested language tags, separated by commas, or null if none exists. */
  language: string | null;
  macros: MacroValues;
  token: string;
  hasUser: boolean;
  publicUrl: string;
};

/** Renders an offer with the copy that the fetch returned, but without a QR code. */
export function renderShown(offer: Offer, context: ShownContext): OfferView {
  const { publisher, language, macros, token, hasUser, publicUrl } = context;
  const preferred = language === null ? publisher.language : wantedOf(language);
  const localised = offer.translations === null ? offer : localise(offer, preferred, publisher);
  const copy = fillCopy(localised.copy, macros);
  return buildOfferView({ offer: localised, publisher, copy, token, hasUser, qrCode: '', publicUrl });
}
