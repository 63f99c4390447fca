import { embeddedDemoIds, loadDemoCatalogue } from '../../src/demo/catalogue.ts';
import type { Executor } from '../../src/platform/db/pool.ts';

/**
 * Loads the demo catalogue without payouts. Only priority and weight order the offers, so that tests know which ones
 * are shown.
 */
export async function loadTestCatalogue(executor: Executor): Promise<void> {
  await loadDemoCatalogue(executor, embeddedDemoIds);
  await executor.query("update campaigns set payout_kind = 'cpc', payout_amount = 0");
}
