import { hostedStyle } from '../../catalog/themes.ts';
import { fillCopy } from '../../offers/offer-view.ts';
import { AppError } from '../../platform/errors.ts';
import { createSigner } from '../../platform/security/tracking-token.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { createWalletLinks, openPurpose, removePurpose, type WalletClaims } from './links.ts';
import { renderWallet, type WalletPage } from './page.ts';
import type { SavedOffer } from './saved-offers.ts';
import { createWalletService, type WalletDeps } from './service.ts';
import { rules } from './style.ts';

/** Query or form fields, not yet validated. */
type Fields = Readonly<Record<string, unknown>>;

/** Actions of the wallet page. Errors: invalid_token for any invalid link; wallet_not_enabled. */
export type Pages = {
  /**
   * Renders the wallet page for the link token `t` in the reader's language. If `save` contains a tracking token, the
   * page asks whether to save its offer.
   * @returns HTML and its style sheet
   */
  show: (query: Fields) => Promise<{ page: string; style: string }>;
  /**
   * Removes the offer identified by the signed token `t`. Idempotent.
   * @returns the link to the wallet page
   */
  remove: (form: Fields, trace: Trace | null) => Promise<string>;
  /**
   * Saves the offer that the tracking token `t` belongs to.
   * @returns the link to the wallet page
   */
  save: (form: Fields, trace: Trace | null) => Promise<string>;
};

export function createPages(deps: WalletDeps): Pages {
  const { catalog, config, now } = deps;
  const wallet = createWalletService(deps);
  const openLinks = createWalletLinks(createSigner(config.tokenKeys, openPurpose));
  const removeLinks = createWalletLinks(createSigner(config.tokenKeys, removePurpose));

  /**
   * Returns the offer that a tracking token belongs to, if the token is for this user and the offer is not saved yet.
   * Returns null otherwise.
   */
  async function saveableOf(
    token: unknown,
    owner: WalletClaims,
    offers: readonly SavedOffer[],
  ): Promise<WalletPage['saveable']> {
    if (typeof token !== 'string') return null;
    const verified = await wallet.verify(token, 'save').catch(nullIfRefused);
    if (verified === null || verified.item.userKey !== owner.userKey) return null;
    const { item, offer } = verified;
    return offers.some(({ view }) => view.id === offer.id)
      ? null
      : { title: fillCopy(offer.copy, item.macros).title, token };
  }

  return {
    show: async ({ t, save }) => {
      const link = openLinks.read(t, now());
      const publisher = link === null ? undefined : catalog.current().publishers.get(link.publisherId);
      if (link === null || publisher === undefined) throw new AppError('invalid_token');
      if (!publisher.walletEnabled) throw new AppError('wallet_not_enabled');
      const claims = await wallet.ownerByLink(link);
      const savedOffers = await wallet.list(claims);
      const saveable = await saveableOf(save, claims, savedOffers);
      const offers = savedOffers.map((offer) => ({
        ...offer,
        removeToken: removeLinks.mint({ ...claims, offerId: offer.view.id }),
      }));
      const style = hostedStyle(publisher, publisher.defaultTheme, rules);
      const { publicUrl } = config;
      const { name: publisherName, timeZone } = publisher;
      const page = renderWallet({ publisherName, timeZone, publicUrl, style, offers, saveable });
      return { page, style };
    },
    remove: async ({ t }, trace) => {
      const link = removeLinks.read(t, now());
      if (link === null) throw new AppError('invalid_token');
      const claims = await wallet.ownerByLink(link);
      await wallet.remove(claims, claims.offerId, trace);
      return openLinks.mint({ ...claims, offerId: 0 });
    },
    save: async ({ t }, trace) => new URL(await wallet.save(t, trace)).searchParams.get('t') ?? '',
  };
}

function nullIfRefused(err: unknown): null {
  if (err instanceof AppError && err.status < 500) return null;
  throw err;
}
