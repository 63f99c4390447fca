import type pg from 'pg';
import type { Logger } from '../../platform/logger.ts';
import { mergeCounts } from '../deliveries/counts.ts';
import { parkDisabled } from './claim/park.ts';
import { checkFailingEndpoints } from './settle/failing-endpoints.ts';

/** Runs between two checks of endpoints that have failed for long (count). */
const checkEvery = 30;

export type Housekeeping = {
  /** Once a second: parks deliveries of disabled endpoints, merges counts, and now and then checks failing endpoints. */
  run: () => void;
  /** Parks deliveries of disabled endpoints. */
  park: () => void;
};

/** What any worker does for all; a failure is left to the next run. */
export function createHousekeeping(pool: pg.Pool, logger: Logger): Housekeeping {
  let runs = 0;
  const park = (): void => {
    parkDisabled(pool).catch((err) => logger.debug({ err }, 'deliveries of disabled endpoints not parked'));
  };
  const check = async (): Promise<void> => {
    const { disabled, warned } = await checkFailingEndpoints(pool);
    if (disabled.length > 0) logger.warn({ endpointIds: disabled }, 'endpoints disabled: only failures for days');
    if (warned.length > 0) logger.warn({ endpointIds: warned }, 'endpoints have failed for a day');
  };
  return {
    park,
    run: () => {
      park();
      mergeCounts(pool).catch((err) => logger.debug({ err }, 'delivery counts not merged'));
      if (runs++ % checkEvery === 0) check().catch((err) => logger.debug({ err }, 'failing endpoints not checked'));
    },
  };
}
