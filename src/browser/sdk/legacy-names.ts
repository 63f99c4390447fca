/** Older spellings of the web SDK's names, all in one place; each is the same object under another name. */

const oldGlobals = [
  ['Adpx', 'Ad'],
  ['AdpxConfig', 'AdConfig'],
  ['AdpxUser', 'AdUser'],
] as const;

/** Names under which a host app may have registered its handler, the new one first. */
export const handlerNames = ['adCallback', 'adpxCallback'] as const;

/** The fingerprint of a user payload under any of its names. */
export const fingerprintOf = (user: Record<string, unknown>): unknown => user.ad_fp ?? user.adpx_fp ?? user.fingerprint;

export const themeIdOf = (user: Record<string, unknown>): unknown => user.themeId ?? user.theme_id;

/** An offer of an answer with old field names, under the new ones too. */
export const withNewOfferNames = (offer: Record<string, unknown>): Record<string, unknown> => ({
  wallet_enabled: offer.perkswallet_enabled,
  is_loyalty: offer.is_loyaltyboost,
  loyalty_requirements: offer.loyaltyboost_requirements,
  ...offer,
});

/** Makes each old global an alias of the new one, for reading and for assignment. */
export function installOldNames(page: Record<string, unknown>): void {
  for (const [old, name] of oldGlobals) {
    page[name] ??= page[old];
    try {
      Object.defineProperty(page, old, {
        configurable: true,
        get: () => page[name],
        set: (value) => {
          page[name] = value;
        },
      });
    } catch {
      // The page declared it with `var`, so it cannot become an accessor.
      page[old] = page[name];
    }
  }
}
