import { createBeacons } from '../beacons.ts';
import { createBridge } from '../bridge.ts';
import { createEmitter } from '../events.ts';
import { activation } from '../page.ts';
import { startWall } from './wall.ts';
import { loadWallWords } from './words.ts';

/** Starts the hosted offerwall, which is a separate page in a browser, a frame or a web view. */
async function start(): Promise<void> {
  const { origin, search } = window.location;
  const { emit } = createEmitter(() => undefined, createBridge(window));
  startWall({
    root: document.getElementById('wall') as HTMLElement,
    query: new URLSearchParams(search),
    base: origin,
    words: await loadWallWords({}, origin),
    emit: (event, payload) => {
      // Post to any origin, because the publisher decides which hosts may embed the page in a frame.
      if (window.parent !== window) window.parent.postMessage({ name: event, ...payload }, '*');
      return emit(event, payload);
    },
    beacons: createBeacons(origin, () => {}), // a beacon given up after its retries has no one to be reported to
  });
}

/** Wait for activation, so that no session is opened while the browser prerenders the page. */
void Promise.resolve(activation()).then(start);
