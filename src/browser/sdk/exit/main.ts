import { tryCall } from '../try-call.ts';
import { onExit } from './intent.ts';

/*
 * `exit.js`: shows the offers of the page's unit when the user is about to leave, wherever the page loads it: before or
 * after the launcher, or in a frame of the same origin (docs/guides/web.md#exit-intent).
 */
const page = tryCall(() => window.top?.document && window.top) ?? window;

function watch(): void {
  onExit(() => {
    // A unit that the page shows by itself is not moved on.
    if (page.document.querySelector('[data-perkwire]') !== null) return;
    if (page.Ad === undefined) watch();
    else page.Ad.show();
  }, page);
}

watch();
