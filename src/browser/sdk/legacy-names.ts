import { tryCall } from './try-call.ts';
import type { EventName } from './types.ts';

/** Legacy names in the web SDK. They are all in this file, and each one is an alias of a new name. */

const oldGlobals = [
  ['Adpx', 'Ad'],
  ['AdpxConfig', 'AdConfig'],
  ['AdpxUser', 'AdUser'],
] as const;

/** Names under which a host app may have registered its event handler. The new name comes first. */
export const handlerNames = ['adCallback', 'adpxCallback'] as const;

/**
 * Closes the dialog in which an Android app shows the page, once the unit has ended or there is nothing to show.
 * @returns whether the page is in such an app
 */
export function dismiss(app: Partial<Record<string, unknown>> | undefined, event: EventName): boolean {
  if (event === 'closed_ads' || event === 'no_ads_found') tryCall(() => (app as DialogApp).dialogDismiss());
  return isDialogApp(app);
}

export const isDialogApp = (app: Partial<Record<string, unknown>> | undefined): boolean =>
  typeof app?.dialogDismiss === 'function';

type DialogApp = { dialogDismiss: () => void };

/** Returns whether the script is the launcher for pages that render the unit themselves, judging by its file name. */
export const isNativeScript = (script: Document['currentScript']): boolean =>
  /\/launcher\.native\b/.test((script as HTMLScriptElement | null)?.src ?? '');

/** URL parameters of a landing page that may contain the click ID. */
export const clickParams = ['click_id', 'adpx_click_id'];

/** Returns the fingerprint in a user payload, under any of its names. */
export const fingerprintOf = (user: Record<string, unknown>): unknown => user.ad_fp ?? user.adpx_fp ?? user.fingerprint;

/** Returns the theme in a user payload or a configuration. */
export const themeIdOf = ({ themeId, theme_id }: { themeId?: unknown; theme_id?: unknown }): unknown =>
  themeId ?? theme_id;

/** Adds the new field names to an offer that has legacy field names. */
export const withNewOfferNames = (offer: Record<string, unknown>): Record<string, unknown> => ({
  wallet_enabled: offer.perkswallet_enabled,
  is_loyalty: offer.is_loyaltyboost,
  loyalty_requirements: offer.loyaltyboost_requirements,
  ...offer,
});

/**
 * Makes each legacy global variable an alias of the new one, for reading and assignment.
 * @returns whether the page uses legacy names
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
      // The page declared the variable with `var`, so it can't be turned into an accessor. Copy the value instead.
      page[old] = page[name];
    }
  }
  return usesOld;
}
