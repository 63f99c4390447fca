import { signInAs, type TestUser } from '../dashboard/support.ts';
import type { TestBase } from '../support/test-modules.ts';

/** An advertiser with its own campaign and offer. */
export type TestAdvertiser = { id: number; name: string; campaign: number; offer: number; user: TestUser };

/** Returns the advertisers of the publisher's first campaigns, each with a signed-in account. */
export async function advertisersOf(t: TestBase, count: number): Promise<TestAdvertiser[]> {
  const { rows } = await t.pool.query<Omit<TestAdvertiser, 'user'>>(
    `select a.id, a.name, min(c.id) as campaign, min(o.id) as offer
    from advertisers a join campaigns c on c.advertiser_id = a.id join offers o on o.campaign_id = c.id
    where a.publisher_id = $1 group by a.id order by a.id limit $2`,
    [t.publisher.id, count],
  );
  return Promise.all(rows.map(async (row) => ({ ...row, user: await signInAs(t, 'advertiser', null, row.id) })));
}

export const pathOf = ({ id }: TestAdvertiser, rest = ''): string => `/dashboard/a/${id}${rest}`;
