import type { Executor } from '../../../platform/db/pool.ts';
import type { Settlement } from './settle.ts';

/**
 * Stores for which endpoints the transformation has failed, and for which it succeeds again. Endpoints without a
 * transformation, and those whose transformation works, cost nothing. As for failed calls, only the key of the attempt
 * is stored, because the error may quote the payload.
 */
export async function recordTransformations(executor: Executor, settlements: readonly Settlement[]): Promise<void> {
  const changes = new Map<number, Settlement>();
  for (const settlement of settlements) {
    const { claimed, errorClass } = settlement;
    if (claimed.transformation === null || errorClass === 'local') continue;
    if (errorClass === 'transformation' || claimed.transformationFailing) changes.set(claimed.endpointId, settlement);
  }
  if (changes.size === 0) return;
  const latest = [...changes.values()];
  await executor.query(
    `with changed as materialized (
      select h.endpoint_id, c.failed, c.delivery_id, c.generation
      from unnest($1::int[], $2::bool[], $3::uuid[], $4::int[]) as c (endpoint_id, failed, delivery_id, generation)
      join endpoint_health h on h.endpoint_id = c.endpoint_id
      order by h.endpoint_id for update of h
    )
    update endpoint_health h set
      transformation_failed_at = case when c.failed then coalesce(h.transformation_failed_at, now()) end,
      transformation_failed_delivery_id = case when c.failed then c.delivery_id end,
      transformation_failed_generation = case when c.failed then c.generation end
    from changed c where h.endpoint_id = c.endpoint_id`,
    [
      latest.map(({ claimed }) => claimed.endpointId),
      latest.map(({ errorClass }) => errorClass === 'transformation'),
      latest.map(({ claimed }) => claimed.deliveryId),
      latest.map(({ claimed }) => claimed.generation),
    ],
  );
}
