import { createUnit, mountUnit } from './ad.ts';
import { findBaseUrl } from './base-url.ts';
import { createBridge } from './bridge.ts';
import { pageSource } from './config.ts';
import { createEmitter } from './events.ts';
import { installOldNames, isNativeScript } from './legacy-names.ts';
import { whenParsed } from './page.ts';

/** DOM event that notifies the running script that the page has loaded the script again. */
const restartEvent = 'perkwire:restart';

/** Sets `window.Ad`. The unit starts automatically if `window.AdConfig` contains an account ID. */
function install(page: Window): void {
  if (typeof page.Ad?.setApiResponse === 'function') {
    // The page content was replaced and has loaded the script again, so notify the running script.
    document.dispatchEvent(new Event(restartEvent));
    return;
  }
  const scriptBase = findBaseUrl(document);
  const bridge = createBridge(page, installOldNames(page as unknown as Record<string, unknown>));
  const source = pageSource(page, () => {
    const isLate = document.readyState === 'complete';
    whenParsed(() => {
      start(isLate);
      restart();
    });
  });
  const emitter = createEmitter(() => source.config.callback, bridge);
  const tag = document.currentScript;
  const { startWhen, start, restart, ...unit } = createUnit({
    source,
    scriptBase,
    emitter,
    mounted: false,
    hostShows: isNativeScript(document.currentScript),
  });
  document.addEventListener(restartEvent, () => whenParsed(() => restart(tag?.isConnected === false)));
  page.Ad = { ...unit, mount: (config) => mountUnit(source, config ?? {}, bridge, scriptBase) };
  startWhen(whenParsed);
}

install(window);
