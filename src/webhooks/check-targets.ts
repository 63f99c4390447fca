import type { Net } from '../config/nets.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type BlockReason, checkUrl, resolveTarget } from './address-guard.ts';
import { isCalled, kindOf, networkUrls } from './destinations/kinds.ts';
import { createLookup } from './dispatcher/send/resolver.ts';

/** Endpoint whose URL cannot currently be called. */
export type UnusableTarget = { endpointId: number; publisherId: number; host: string; problem: string };

/** Maximum number of endpoints to check. Each one needs a DNS lookup. */
const maxChecked = 500;

/** Looks up the hosts of all enabled endpoints in the same way as the dispatcher, but does not call them. */
export async function checkTargets(
  executor: Executor,
  rules: { allowHttp: boolean; allowNets: readonly Net[] },
): Promise<{ checked: number; unusable: UnusableTarget[] }> {
  const { rows } = await executor.query<{ id: number; publisher_id: number; url: string }>(
    `select id, publisher_id, url from webhook_endpoints e
    where enabled and deleted_at is null and ${isCalled} order by id limit ${maxChecked}`,
  );
  const lookup = createLookup();
  const problems = await Promise.all(
    rows.map(async ({ id, publisher_id: publisherId, url }): Promise<UnusableTarget[]> => {
      const problem = await problemOf(url, rules, lookup);
      return problem === null ? [] : [{ endpointId: id, publisherId, host: new URL(url).host, problem }];
    }),
  );
  return { checked: rows.length, unusable: problems.flat() };
}

async function problemOf(
  url: string,
  rules: { allowHttp: boolean; allowNets: readonly Net[] },
  lookup: ReturnType<typeof createLookup>,
): Promise<BlockReason | string | null> {
  for (const server of kindOf(url) === 'http' ? [url] : networkUrls(new URL(url)).map(({ href }) => href)) {
    const checked = checkUrl(server, rules);
    if (!checked.ok) return checked.reason;
    const target = await resolveTarget(checked.url, { lookup, allowNets: rules.allowNets });
    if (!target.ok) return 'message' in target ? target.message : target.reason;
  }
  return null;
}
