import { createBeacons } from '../beacons.ts';
import { createBridge } from '../bridge.ts';
import { startWall } from './wall.ts';

/** The hosted offerwall: a page of its own, in a browser, a frame or a web view. */
const { origin } = window.location;
startWall({
  root: document.getElementById('wall') as HTMLElement,
  query: new URLSearchParams(window.location.search),
  base: origin,
  bridge: createBridge(window),
  beacons: createBeacons(origin, () => {}), // a beacon given up after its retries has no one to be reported to
});
