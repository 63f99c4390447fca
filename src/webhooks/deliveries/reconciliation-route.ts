import type pg from 'pg';
import type { Config } from '../../config.ts';
import { callOf } from '../../management/http.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import type { App } from '../../platform/http/app.ts';
import { readDayRange } from '../../platform/http/day-range.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { isReconciled, reconcilePublisher, type StateCounts } from './reconciliation.ts';
import { reconciliationAnswer, reconciliationQuery } from './schemas.ts';

/** Default number of days to reconcile. */
const defaultDays = 7;

type ReconciliationDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; config: Config; now: () => number };

/**
 * Registers the route that shows whether each of a publisher's deliveries is in exactly one state
 * (docs/reference/webhooks.md#deliveries).
 */
export function reconciliationRoute(app: App, { pool, dbHealth, config, now }: ReconciliationDeps): void {
  const failFast = createFailFast(dbHealth);
  // A day that still has queued deliveries is retained for up to twice the retention period.
  const maxDays = 2 * config.retentionDeliveryDays + 1;

  app.get(
    '/manage/v1/deliveries/balance',
    {
      schema: {
        operationId: 'balanceDeliveries',
        summary: 'Reconcile deliveries',
        description:
          'Compares the counts of all states with the total number of deliveries. `balanced` is true if none is ' +
          'missing.',
        tags: ['Deliveries'],
        querystring: reconciliationQuery,
        response: { 200: reconciliationAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { from, to } = request.query;
      const today = dayOf(now());
      const isOpen = from === undefined && to === undefined;
      const period = isOpen ? { from: dayOf(now() - (defaultDays - 1) * dayMs), to: today } : { from, to };
      const range = readDayRange(period, today, maxDays);
      const days = await failFast(() => reconcilePublisher(pool, callOf(request).publisherId, range));
      const data = {
        ...range,
        ...totalOf(days),
        balanced: days.every(isReconciled),
        days: days.map((day) => ({ ...day, balanced: isReconciled(day) })),
      };
      return {
        message: data.balanced ? 'Every delivery is in one state.' : 'Deliveries are missing, or in two states.',
        data,
      };
    },
  );
}

function totalOf(days: readonly StateCounts[]): StateCounts {
  const total = (name: keyof StateCounts): number => days.reduce((sum, day) => sum + day[name], 0);
  return {
    created: total('created'),
    delivered: total('delivered'),
    failed: total('failed'),
    held: total('held'),
    pending: total('pending'),
  };
}
