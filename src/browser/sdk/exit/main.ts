import { tryCall } from '../try-call.ts';
import { onExit } from './intent.ts';

/*
 * `exit.js`: shows the offers of the page's unit when the user is about to leave. The page may load it before or after
 * the launcher, or in a frame of the same origin (docs/guides/web.md#exit-intent).
 */
const page = tryCall(() => window.top?.document && window.top) ?? window;

function watch(): void {
  onExit(() => {
    // Do nothing if the page already shows a unit.
    if (page.document.querySelector('[data-perkwire]') !== null) return;
    if (page.Ad === undefined) watch();
    else page.Ad.show();
  }, page);
}

watch();
