import { createUnit, mountUnit } from './ad.ts';
import { findBaseUrl } from './base-url.ts';
import { createBridge } from './bridge.ts';
import { pageSource } from './config.ts';
import { createEmitter } from './events.ts';
import { installOldNames } from './legacy-names.ts';
import { whenParsed } from './page.ts';

/** Sets `window.Ad`, which starts by itself where `window.AdConfig` names an account by then. */
function install(page: Window): void {
  if (typeof page.Ad?.setApiResponse === 'function') return;
  const scriptBase = findBaseUrl(document);
  const bridge = createBridge(page, installOldNames(page as unknown as Record<string, unknown>));
  const source = pageSource(page, () => whenParsed(startLate));
  const emitter = createEmitter(() => source.config.callback, bridge);
  const { startWhen, startLate, ...unit } = createUnit({ source, scriptBase, emitter, mounted: false });
  page.Ad = { ...unit, mount: (config) => mountUnit(source, config ?? {}, bridge, scriptBase) };
  startWhen(whenParsed);
}

install(window);
