import { type TSchema, Type } from '@sinclair/typebox';
import type { Additions } from '../management/additions.ts';
import { orNull, type Values } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type Result, results } from './look.ts';

const time = (description: string): TSchema => Type.String({ format: 'date-time', description });
const nullable = (schema: TSchema, title: string, description: string) => orNull(schema, { title, description });

const fields = {
  url: Type.String({ description: 'As it was looked at.' }),
  looked_at: time('When it was last looked at.'),
  next_look_at: time('When it is looked at next, as long as the campaign and the offer are active.'),
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
    'When the campaign, or the offer, was paused for it; null: it was not, or all is well again.',
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

type LandingPageRow = Omit<LandingPageView, 'looked_at' | 'next_look_at' | 'failing_since' | 'paused_at'> & {
  id: number;
  looked_at: Date;
  next_look_at: Date;
  failing_since: Date | null;
  paused_at: Date | null;
};

/** Owner of a page: the landing page of a campaign, or the page of an offer's secondary action. */
export type LandingPageOf = 'campaign' | 'offer';

/** Returns the latest checks of pages, by the ids of their kind, without pages that were never checked. */
export async function findLandingPages(
  executor: Executor,
  kind: LandingPageOf,
  ids: readonly number[],
): Promise<Map<number, LandingPageView>> {
  const { rows } = await executor.query<LandingPageRow>(
    `select ${kind}_id as id, url, looked_at, next_look_at, result, status, problem, redirects, leads_to,
      known_host as led_to, failing_since, paused_at
    from landing_pages where ${kind}_id = any($1::integer[]) and looked_at is not null`,
    [ids],
  );
  return new Map(
    rows.map(({ id, looked_at, next_look_at, failing_since, paused_at, ...row }) => [
      id,
      {
        ...row,
        looked_at: looked_at.toISOString(),
        next_look_at: next_look_at.toISOString(),
        failing_since: failing_since?.toISOString() ?? null,
        paused_at: paused_at?.toISOString() ?? null,
      },
    ]),
  );
}

/** Fields about the landing page in responses with a campaign. */
export const landingAdditions: Additions = {
  fields: {
    landing_page: orNull(view, {
      title: 'CampaignLandingPage',
      description:
        'What the last look at the landing page came to; null: none yet. Not part of the ETag; ignored in a body.',
    }),
  },
  read: async ({ executor }, rows) => {
    const pageById = await findLandingPages(
      executor,
      'campaign',
      rows.map(({ id }) => Number(id)),
    );
    return ({ id }) => ({ landing_page: pageById.get(Number(id)) ?? null });
  },
  warn: async () => [],
};

/** Fields about the page of the secondary action in responses with an offer. */
export const actionAdditions: Additions = {
  fields: {
    action_page: orNull(view, {
      title: 'OfferActionPage',
      description:
        'What the last look at the page of the secondary action (`useraction_url`) came to; null: none yet, or there ' +
        'is no such action. Not part of the ETag; ignored in a body.',
    }),
  },
  read: async ({ executor }, rows) => {
    const leading = rows.filter(hasAction).map(({ id }) => Number(id));
    const pageById = await findLandingPages(executor, 'offer', leading);
    return ({ id }) => ({ action_page: pageById.get(Number(id)) ?? null });
  },
  warn: async () => [],
};

const hasAction = ({ useraction_url: url }: Values): boolean => typeof url === 'string' && url !== '';
