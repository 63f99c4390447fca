import type { Executor } from '../platform/db/pool.ts';
import { type OperationalEvent, raiseOnce } from './raise-events.ts';

/** What happened: `subject` names it for good, `data` are the fields of the payload. */
export type Fact = { publisherId: number; subject: string; data: Readonly<Record<string, unknown>> };

/** Raises an operational event for each fact that was not raised yet. */
export async function raiseFacts(executor: Executor, event: OperationalEvent, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  await executor.query(
    raiseOnce(event, 'select * from unnest($1::integer[], $2::text[], $3::jsonb[]) as f (publisher_id, subject, data)'),
    [
      facts.map(({ publisherId }) => publisherId),
      facts.map(({ subject }) => subject),
      facts.map(({ data }) => JSON.stringify(data)),
    ],
  );
}
