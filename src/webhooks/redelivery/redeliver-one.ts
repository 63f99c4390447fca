import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { findDelivery } from '../deliveries/store.ts';
import { lockOpenEndpoints, requeue } from './requeue.ts';

/**
 * Queues one delivery of the publisher again. Runs in a transaction.
 * @throws AppError `delivery_not_found`, `delivery_pending`, `delivery_erased`, `endpoint_disabled`
 */
export async function redeliverOne(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<void> {
  const endpointIds = await lockOpenEndpoints(executor, publisherId);
  const found = await findDelivery(executor, publisherId, id);
  if (found === null) throw new AppError('delivery_not_found');
  if (found.erased_at !== null) throw new AppError('delivery_erased');
  if (found.status === 'pending') throw new AppError('delivery_pending');
  if (!endpointIds.includes(found.endpoint_id)) throw new AppError('endpoint_disabled');
  const statuses = ['delivered', 'failed', 'held'] as const;
  const queued = await requeue(executor, { publisherId, keys: [{ id, day: found.day }], endpointIds, statuses, nowMs });
  // A concurrent call was faster.
  if (queued === 0) throw new AppError('delivery_pending');
}
