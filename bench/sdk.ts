import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { embeddedDemoIds, loadDemoCatalogue } from '../src/embedded/demo/catalogue.ts';
import { transaction } from '../src/platform/db/pool.ts';
import { launchBrowser, userAgent } from '../test/support/browser.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { openStage } from './stage.ts';

/** Pages opened, each with an empty cache, after one that warms the server up. */
const runs = 20;

/**
 * Prints the size of the web SDK, the time until the first offer is shown, and what the page's main thread worked for
 * it.
 */
const stage = await openStage();
try {
  await transaction(stage.pool, (executor) => loadDemoCatalogue(executor, embeddedDemoIds));
  const perkwire = await startServerProcess({ databaseUrl: stage.databaseUrl });
  const shop = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(page(perkwire.url)),
  ).listen(0, '127.0.0.1');
  const browser = await launchBrowser(stage.databaseUrl);
  try {
    const shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`;
    const script = Buffer.from(await (await fetch(`${perkwire.url}/sdk/launcher.js`)).arrayBuffer());
    process.stdout.write(`size: ${script.length} bytes, ${gzipSync(script, { level: 9 }).length} gzip\n`);
    const shownMs: number[] = [];
    const scriptMs: number[] = [];
    for (let run = 0; run <= runs; run++) {
      const context = await browser.newContext({ userAgent });
      await context.route(/\.example\//, (route) => route.fulfill({ status: 200, body: '' }));
      const tab = await context.newPage();
      const session = await context.newCDPSession(tab);
      await session.send('Performance.enable');
      await tab.goto(shopUrl);
      await tab.waitForFunction('window.shownMs !== undefined');
      const { metrics } = await session.send('Performance.getMetrics');
      if (run > 0) {
        shownMs.push((await tab.evaluate('window.shownMs')) as number);
        scriptMs.push((metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0) * 1000);
      }
      await context.close();
    }
    print('navigation to first offer', shownMs);
    print('script time of the main thread', scriptMs);
  } finally {
    await browser.close();
    shop.close();
    await perkwire.stop();
  }
} finally {
  await stage.close();
}

function print(what: string, values: number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1);
  process.stdout.write(`${what}: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms (${sorted.length} pages)\n`);
}

/** A page with nothing but the SDK; `shownMs` is the time since navigation at which an offer was shown. */
function page(url: string): string {
  return `<!doctype html><meta charset="utf-8"><title>Shop</title><script>
window.AdUser = { placement: 'order-status', pub_user_id: 'bench' };
window.AdConfig = {
  accountId: '${embeddedDemoIds.sdkId}',
  callback(event) { if (event === 'ad_shown') window.shownMs ??= performance.now(); },
};
</script><script src="${url}/sdk/launcher.js"></script>`;
}
