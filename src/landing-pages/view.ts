import { type TSchema, Type } from '@sinclair/typebox';
import type { Additions } from '../management/additions.ts';
import { orNull } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type Result, results } from './look.ts';

const time = (description: string): TSchema => Type.String({ format: 'date-time', description });
const nullable = (schema: TSchema, title: string, description: string) => orNull(schema, { title, description });

const fields = {
  url: Type.String({ description: 'As it was looked at.' }),
  looked_at: time('When it was last looked at.'),
  next_look_at: time('When it is looked at next, as long as the campaign is active.'),
  result: Type.Union(
    results.map((result) => Type.Literal(result)),
    {
      description:
        'gone: 404, 410, or an unknown host. moved: leads to another domain than before. unreachable: no answer, ' +
        'or 5xx.',
    },
  ),
  status: nullable(Type.Integer(), 'LandingStatus', 'null: no answer.'),
  problem: nullable(
    Type.String(),
    'LandingProblem',
    'Why there was no answer: `dns`, `timeout`, `connect`, `tls`, `reset`, `protocol`, `redirects` (too many), ' +
      '`blocked` (not a public address); null: there was one.',
  ),
  redirects: Type.Integer({ description: 'That were followed.' }),
  leads_to: Type.String({ description: 'The host that was reached.' }),
  led_to: nullable(Type.String(), 'LandingHost', 'The host that it led to when all was well; null: it never was.'),
  failing_since: nullable(Type.String({ format: 'date-time' }), 'LandingFailingSince', 'null: all is well.'),
  paused_at: nullable(
    Type.String({ format: 'date-time' }),
    'LandingPausedAt',
    'When the campaign was paused for it; null: it was not, or all is well again.',
  ),
};

const view = Type.Object(fields, { title: 'LandingPage' });

export type LandingPageView = {
  url: string;
  looked_at: string;
  next_look_at: string;
  result: Result;
  status: number | null;
  problem: string | null;
  redirects: number;
  leads_to: string;
  led_to: string | null;
  failing_since: string | null;
  paused_at: string | null;
};

type Row = Omit<LandingPageView, 'looked_at' | 'next_look_at' | 'failing_since' | 'paused_at'> & {
  campaign_id: number;
  looked_at: Date;
  next_look_at: Date;
  failing_since: Date | null;
  paused_at: Date | null;
};

/** What the last looks at landing pages came to, by campaign; a page that was never looked at has no entry. */
export async function findLandingPages(
  executor: Executor,
  campaignIds: readonly number[],
): Promise<Map<number, LandingPageView>> {
  const { rows } = await executor.query<Row>(
    `select campaign_id, url, looked_at, next_look_at, result, status, problem, redirects, leads_to,
      known_host as led_to, failing_since, paused_at
    from landing_pages where campaign_id = any($1::integer[]) and looked_at is not null`,
    [campaignIds],
  );
  return new Map(
    rows.map(({ campaign_id, looked_at, next_look_at, failing_since, paused_at, ...row }) => [
      campaign_id,
      {
        ...row,
        ...{ looked_at: looked_at.toISOString(), next_look_at: next_look_at.toISOString() },
        ...{ failing_since: failing_since?.toISOString() ?? null, paused_at: paused_at?.toISOString() ?? null },
      },
    ]),
  );
}

/** What answers show of a campaign's landing page. */
export const landingAdditions: Additions = {
  fields: {
    landing_page: orNull(view, {
      title: 'CampaignLandingPage',
      description:
        'What the last look at the landing page came to; null: none yet. Not part of the ETag; ignored in a body.',
    }),
  },
  read: async ({ executor }, rows) => {
    const found = await findLandingPages(
      executor,
      rows.map(({ id }) => Number(id)),
    );
    return ({ id }) => ({ landing_page: found.get(Number(id)) ?? null });
  },
  warn: async () => [],
};
