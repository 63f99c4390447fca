import { tryCall } from './try-call.ts';
import type { EventName } from './types.ts';

/** Old spellings of the web SDK's names, all in this file; each refers to the same object as the new name. */

const oldGlobals = [
  ['Adpx', 'Ad'],
  ['AdpxConfig', 'AdConfig'],
  ['AdpxUser', 'AdUser'],
] as const;

/** Names under which a host app may have registered its handler, the new name first. */
export const handlerNames = ['adCallback', 'adpxCallback'] as const;

/**
 * Dismisses the dialog of an Android app that contains the page, when the unit has ended or there is nothing to show.
 * @returns whether the app is one
 */
export function dismiss(app: Partial<Record<string, unknown>> | undefined, event: EventName): boolean {
  if (event === 'closed_ads' || event === 'no_ads_found') tryCall(() => (app as DialogApp).dialogDismiss());
  return isDialogApp(app);
}

export const isDialogApp = (app: Partial<Record<string, unknown>> | undefined): boolean =>
  typeof app?.dialogDismiss === 'function';

type DialogApp = { dialogDismiss: () => void };

/** Whether the script is the launcher for pages that draw their unit themselves, by its name. */
export const isNativeScript = (script: Document['currentScript']): boolean =>
  /\/launcher\.native\b/.test((script as HTMLScriptElement | null)?.src ?? '');

/** Parameters of a landing page's URL that may hold the click id. */
export const clickParams = ['click_id', 'adpx_click_id'];

/** Fingerprint in a user payload, under any of its names. */
export const fingerprintOf = (user: Record<string, unknown>): unknown => user.ad_fp ?? user.adpx_fp ?? user.fingerprint;

/** Theme in a user payload or a configuration. */
export const themeIdOf = ({ themeId, theme_id }: { themeId?: unknown; theme_id?: unknown }): unknown =>
  themeId ?? theme_id;

/** Adds the new names to an offer with old field names. */
export const withNewOfferNames = (offer: Record<string, unknown>): Record<string, unknown> => ({
  wallet_enabled: offer.perkswallet_enabled,
  is_loyalty: offer.is_loyaltyboost,
  loyalty_requirements: offer.loyaltyboost_requirements,
  ...offer,
});

/**
 * Makes each old global an alias of the new one, for reading and for assignment.
 * @returns whether the page uses the old names
 */
export function installOldNames(page: Record<string, unknown>): boolean {
  const usesOld = page.AdConfig === undefined && page.AdpxConfig !== undefined;
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
      // The page declared it with `var`, so that it can't become an accessor.
      page[old] = page[name];
    }
  }
  return usesOld;
}
