import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { findDelivery } from '../delivery-store.ts';
import { attemptNow, endWait } from './attempt-now.ts';
import { lockOpenEndpoints, requeue } from './requeue.ts';

/**
 * Queues one delivery of the publisher again; one that is pending is attempted now. Runs in a transaction.
 * @throws AppError `delivery_not_found`, `delivery_erased`, `endpoint_disabled`
 */
export async function redeliverOne(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<void> {
  const endpointIds = await lockOpenEndpoints(executor, publisherId);
  const found = await findDelivery(executor, publisherId, id);
  if (found === null) throw new AppError('delivery_not_found');
  if (found.erased_at !== null) throw new AppError('delivery_erased');
  if (!endpointIds.includes(found.endpoint_id)) throw new AppError('endpoint_disabled');
  const statuses = ['delivered', 'failed', 'held'] as const;
  await requeue(executor, { publisherId, keys: [{ id, day: found.day }], endpointIds, statuses, nowMs });
  if (found.status !== 'pending') return;
  await endWait(executor, { publisherId, event: null, endpointId: found.endpoint_id });
  await attemptNow(executor, [id], endpointIds);
}
