import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext } from 'playwright-core';
import { embeddedDemoIds, loadDemoCatalogue } from '../src/demo/catalogue.ts';
import { transaction } from '../src/platform/db/pool.ts';
import { launchBrowser, userAgent } from '../test/support/browser.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { openStage } from './stage.ts';

/** Number of page loads of each kind, each with an empty cache, after one warm-up: `npm run bench:sdk -- 5`. */
const runs = Number(process.argv[2] ?? 20);

/** Space reserved in the page, as recommended in the guide (docs/guides/web.md#a-page-with-the-sdk). */
const minHeight = 'max(760px, 100vh)';

/** Time for work after the offer is shown, such as images and beacons, in milliseconds. */
const settleMs = 300;

type Kind = {
  name: string;
  placement: string;
  /** Whether the unit is embedded above the page content. */
  embedded: boolean;
  viewport: { width: number; height: number };
};

const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };

const kinds: readonly Kind[] = [
  { name: 'single, over the page', placement: 'order-status', embedded: false, viewport: desktop },
  { name: 'single, embedded', placement: 'order-status', embedded: true, viewport: desktop },
  { name: 'single, embedded, phone', placement: 'order-status', embedded: true, viewport: phone },
  { name: 'grid, embedded', placement: 'checkout', embedded: true, viewport: desktop },
  { name: 'grid, embedded, phone', placement: 'checkout', embedded: true, viewport: phone },
];

/**
 * Prints the size of the web SDK. For each kind of page, also prints the time until the first offer is in the page, the
 * CPU time of all scripts on the main thread, and the cumulative layout shift, for a first and a second visit.
 */
const stage = await openStage();
try {
  await transaction(stage.pool, (executor) => loadDemoCatalogue(executor, embeddedDemoIds));
  const perkwire = await startServerProcess({ databaseUrl: stage.databaseUrl });
  const shop = createServer((request, response) => {
    const kind = kinds[Number(request.url?.slice(1))];
    response.setHeader('content-type', 'text/html').end(kind === undefined ? '' : page(perkwire.url, kind));
  }).listen(0, '127.0.0.1');
  const browser = await launchBrowser();
  try {
    const shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    const script = Buffer.from(await (await fetch(`${perkwire.url}/sdk/launcher.js`)).arrayBuffer());
    process.stdout.write(`size: ${script.length} bytes, ${gzipSync(script, { level: 9 }).length} gzip\n`);
    process.stdout.write(
      '| unit | first offer p50 / p90 | script p50 / p90 | shift, 1st / 2nd visit |\n| --- | ---: | ---: | ---: |\n',
    );
    for (const [index, kind] of kinds.entries()) {
      const visits = await measure(browser, `${shopUrl}/${index}`, kind);
      const first = visits.map(([visit]) => visit);
      const again = visits.map(([, visit]) => visit);
      const shifts = `${at(first, 0.9, 'shift', 3)} / ${at(again, 0.9, 'shift', 3)}`;
      process.stdout.write(
        `| ${kind.name} | ${at(first, 0.5, 'shownMs')} / ${at(first, 0.9, 'shownMs')} ms ` +
          `| ${at(first, 0.5, 'scriptMs')} / ${at(first, 0.9, 'scriptMs')} ms | ${shifts} |\n`,
      );
    }
  } finally {
    await browser.close();
    shop.close();
    await perkwire.stop();
  }
} finally {
  await stage.close();
}

type Visit = { shownMs: number; scriptMs: number; shift: number };

async function measure(browser: Browser, url: string, { viewport }: Kind): Promise<[Visit, Visit][]> {
  const visits: [Visit, Visit][] = [];
  for (let run = 0; run <= runs; run++) {
    const context = await browser.newContext({ userAgent, viewport });
    await context.route(/\.example\//, (route) => route.fulfill({ status: 200, body: '' }));
    const pair: [Visit, Visit] = [await visit(context, url), await visit(context, url)];
    if (run > 0) visits.push(pair);
    await context.close();
  }
  return visits;
}

/**
 * Visits a page. Evaluates nothing in the page before its script time is read, because the evaluation would be included
 * in that time.
 */
async function visit(context: BrowserContext, url: string): Promise<Visit> {
  const tab = await context.newPage();
  const session = await context.newCDPSession(tab);
  // Measure CPU time, so that other programs don't affect the result.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const offerShown = tab.waitForEvent('console', (message) => message.text() === 'shown');
  await tab.goto(url);
  await offerShown;
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const { metrics } = await session.send('Performance.getMetrics');
  const { shownMs, shift } = (await tab.evaluate('({ shownMs, shift })')) as { shownMs: number; shift: number };
  await tab.close();
  return { shownMs, shift, scriptMs: (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0) * 1000 };
}

function at(visits: readonly Visit[], share: number, name: keyof Visit, digits = 1): string {
  const sorted = visits.map((visit) => visit[name]).toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(digits);
}

/**
 * Returns a page with only text and the SDK. `shownMs` is the time from navigation until an offer is in the page
 * (painted in the next frame). `shift` is the sum of its layout shifts.
 */
function page(url: string, { placement, embedded }: Kind): string {
  const config = { accountId: embeddedDemoIds.sdkId, ...(embedded && { targetElement: 'perks' }) };
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Shop</title><script>
window.shift = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value;
}).observe({ type: 'layout-shift', buffered: true });
window.AdUser = { placement: '${placement}', pub_user_id: 'bench' };
window.AdConfig = ${JSON.stringify(config)};
const seen = new MutationObserver(() => {
  const root = document.querySelector('[data-perkwire]')?.shadowRoot;
  if (!root?.querySelector('.title')) return;
  seen.disconnect();
  window.shownMs = performance.now();
  console.log('shown');
});
seen.observe(document, { childList: true, subtree: true });
</script><script async src="${url}/launcher.min.js"></script>
<h1>Thank you for your order</h1><div id="perks" style="min-height: ${minHeight}"></div>
${'<p>Your parcel arrives on Monday.</p>'.repeat(20)}</html>`;
}
