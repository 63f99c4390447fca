import { createAd } from './ad.ts';
import { findBaseUrl } from './base-url.ts';
import { createBridge } from './bridge.ts';
import { createEmitter } from './events.ts';
import { installOldNames } from './legacy-names.ts';
import { whenParsed } from './page.ts';

/** Sets `window.Ad`, and initialises it where `window.AdConfig` names an account. */
function install(page: Window): void {
  if (typeof page.Ad?.setApiResponse === 'function') return;
  installOldNames(page as unknown as Record<string, unknown>);
  const bridge = createBridge(page);
  const emit = createEmitter(() => page.AdConfig?.callback, bridge);
  const ad = createAd({ page, scriptBase: findBaseUrl(document), bridge, emit });
  page.Ad = ad;
  if (page.AdConfig?.accountId !== undefined) whenParsed(() => void ad.init());
}

install(window);
