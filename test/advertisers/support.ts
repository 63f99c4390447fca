import type { LightMyRequestResponse as Response } from 'fastify';
import { csrfTokenOf } from '../../src/accounts/access.ts';
import { origin, signInAs, type TestUser } from '../dashboard/support.ts';
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

const boundary = 'the-boundary';

/** Uploads an image like a browser form. */
export function uploadAs(
  { app }: TestBase,
  { cookie }: Pick<TestUser, 'cookie'>,
  path: string,
  {
    bytes,
    type = 'image/png',
    fields = { creative_type: 'hero_image' },
  }: { bytes: Buffer; type?: string; fields?: Readonly<Record<string, string>> },
): Promise<Response> {
  const parts = Object.entries({ _csrf: csrfTokenOf(cookie.split('=')[1] ?? ''), ...fields }).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = 'content-disposition: form-data; name="image"; filename="a.bin"';
  const head = `${parts.join('')}--${boundary}\r\n${file}\r\ncontent-type: ${type}\r\n\r\n`;
  const payload = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const headers = { origin, cookie, 'content-type': `multipart/form-data; boundary=${boundary}` };
  return app.inject({ method: 'POST', url: path, headers, payload });
}
