import { createBeacons } from '../beacons.ts';
import { createBridge } from '../bridge.ts';
import { createEmitter } from '../events.ts';
import { activation } from '../page.ts';
import { startWall } from './wall.ts';
import { loadWallWords } from './words.ts';

/** The hosted offerwall: a page of its own, in a browser, a frame or a web view. */
async function start(): Promise<void> {
  const { origin, search } = window.location;
  const { emit } = createEmitter(() => undefined, createBridge(window));
  startWall({
    root: document.getElementById('wall') as HTMLElement,
    query: new URLSearchParams(search),
    base: origin,
    words: await loadWallWords({}, origin),
    emit: (event, payload) => {
      // Any origin: the publisher decides which hosts may frame the page.
      if (window.parent !== window) window.parent.postMessage({ name: event, ...payload }, '*');
      return emit(event, payload);
    },
    beacons: createBeacons(origin, () => {}), // a beacon given up after its retries has no one to be reported to
  });
}

/** A page that a browser renders in advance opens no session before it is shown. */
void Promise.resolve(activation()).then(start);
