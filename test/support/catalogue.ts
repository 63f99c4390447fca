import { embeddedDemoIds, loadDemoCatalogue } from '../../src/demo/catalogue.ts';
import type { Executor } from '../../src/platform/db/pool.ts';

/** The demo catalogue without payouts: priority and weight alone order the offers, so tests know what is shown. */
export async function loadTestCatalogue(executor: Executor): Promise<void> {
  await loadDemoCatalogue(executor, embeddedDemoIds);
  await executor.query("update campaigns set payout_kind = 'cpc', payout_amount = 0");
}
