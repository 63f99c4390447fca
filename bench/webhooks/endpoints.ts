import type pg from 'pg';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { createEndpointSecret } from '../../src/webhooks/signature.ts';
import { processSecrets } from '../../test/support/server-process.ts';
import type { openStage } from '../stage.ts';

export type Stage = Awaited<ReturnType<typeof openStage>>;

export const benchSecretBox = createSecretBox(Buffer.from(processSecrets.SECRETS_KEY, 'base64'));

/**
 * Creates publishers with one endpoint each.
 * @returns endpoint IDs
 */
export async function seedEndpoints(
  pool: pg.Pool,
  { count, url, maxInFlight = 4 }: { count: number; url: (index: number) => string; maxInFlight?: number },
): Promise<number[]> {
  const { sealed } = createEndpointSecret(benchSecretBox);
  const urls = Array.from({ length: count }, (_, index) => url(index));
  const { rows } = await pool.query<{ id: number }>(
    `with owner as (
      insert into publishers (name, sdk_id)
      select 'bench', left(md5(random()::text || n), 16) from generate_series(1, $1::int) n
      returning id
    ), numbered as (
      select id, row_number() over (order by id) as n from owner
    )
    insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, max_in_flight)
    select o.id, 'usp.selection', u.url, 'POST', $3, $4
    from numbered o join unnest($2::text[]) with ordinality as u (url, n) using (n)
    returning id`,
    [count, urls, sealed, maxInFlight],
  );
  return rows.map((row) => row.id).sort((a, b) => a - b);
}
