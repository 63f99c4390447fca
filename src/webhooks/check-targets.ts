import type { Net } from '../config/nets.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type BlockReason, checkUrl, resolveTarget } from './address-guard.ts';
import { createLookup } from './dispatcher/send/resolver.ts';

/** An endpoint whose URL cannot be called as things are. */
export type UnusableTarget = { endpointId: number; publisherId: number; host: string; problem: string };

/** Endpoints checked (count): as many lookups are made. */
const maxChecked = 500;

/** Looks up the hosts of the enabled endpoints as the dispatcher does; calls none. */
export async function checkTargets(
  executor: Executor,
  rules: { allowHttp: boolean; allowNets: readonly Net[] },
): Promise<{ checked: number; unusable: UnusableTarget[] }> {
  const { rows } = await executor.query<{ id: number; publisher_id: number; url: string }>(
    `select id, publisher_id, url from webhook_endpoints
    where enabled and deleted_at is null and not is_listener order by id limit ${maxChecked}`,
  );
  const lookup = createLookup();
  const found = await Promise.all(
    rows.map(async ({ id, publisher_id: publisherId, url }): Promise<UnusableTarget[]> => {
      const problem = await problemOf(url, rules, lookup);
      return problem === null ? [] : [{ endpointId: id, publisherId, host: new URL(url).host, problem }];
    }),
  );
  return { checked: rows.length, unusable: found.flat() };
}

async function problemOf(
  url: string,
  rules: { allowHttp: boolean; allowNets: readonly Net[] },
  lookup: ReturnType<typeof createLookup>,
): Promise<BlockReason | string | null> {
  const checked = checkUrl(url, rules);
  if (!checked.ok) return checked.reason;
  const target = await resolveTarget(checked.url, { lookup, allowNets: rules.allowNets });
  if (target.ok) return null;
  return 'message' in target ? target.message : target.reason;
}
