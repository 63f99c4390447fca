import type { Executor } from '../../platform/db/pool.ts';

/**
 * Returns SQL that records how a statement changes the status of deliveries, in the same transaction.
 * @param moves SQL for rows of (publisher_id, day, was, became), one per delivery whose status changed; `was` is null
 * for new deliveries
 */
export const countMoves = (moves: string): string => `insert into delivery_count_changes
    select array_agg(publisher_id), array_agg(day),
      array_agg(created), array_agg(delivered), array_agg(failed), array_agg(held)
    from (
      select publisher_id, day, count(*) filter (where was is null)::int as created,
        ${changeOf('delivered')}, ${changeOf('failed')}, ${changeOf('held')}
      from (${moves}) moved
      group by publisher_id, day
    ) counted
    having count(*) > 0`;

/** Returns SQL for the change in the number of deliveries that have a status. */
function changeOf(status: string): string {
  return `(count(*) filter (where became = '${status}') - count(*) filter (where was = '${status}'))::int as ${status}`;
}

/** Merges the recorded changes into the daily counts. Several processes may run it concurrently. */
export async function mergeCounts(executor: Executor): Promise<void> {
  await executor.query({ name: 'merge_delivery_counts', text: 'select merge_delivery_counts()' });
}
