import { type TSchema, Type } from '@sinclair/typebox';
import type { Additions } from '../management/additions.ts';
import { orNull, type Values } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type Result, results } from './page-check.ts';

const time = (description: string): TSchema => Type.String({ format: 'date-time', description });
const nullable = (schema: TSchema, title: string, description: string) => orNull(schema, { title, description });

const fields = {
  url: Type.String({ description: 'URL that was checked.' }),
  looked_at: time('Time of the last check.'),
  next_look_at: time('Time of the next check, while the campaign and the offer are active.'),
  result: Type.Union(
    results.map((result) => Type.Literal(result)),
    {
      description:
        'Result. `gone`: status 404 or 410, or unknown host. `moved`: redirects to a different domain than before. ' +
        '`unreachable`: no response, or status 5xx.',
    },
  ),
  status: nullable(Type.Integer(), 'LandingStatus', 'HTTP status, or `null` without a response.'),
  problem: nullable(
    Type.String(),
    'LandingProblem',
    'Why there was no response: `dns`, `timeout`, `connect`, `tls`, `reset`, `protocol`, `redirects` (too ' +
      'many) or `blocked` (not a public address). `null` if there was one.',
  ),
  redirects: Type.Integer({ description: 'Number of redirects that were followed.' }),
  leads_to: Type.String({ description: 'Host that was reached after redirects.' }),
  led_to: nullable(Type.String(), 'LandingHost', 'Host that was reached by the last successful check, or `null`.'),
  failing_since: nullable(
    Type.String({ format: 'date-time' }),
    'LandingFailingSince',
    'Time of the first of the latest failed checks, or `null` if the last check succeeded.',
  ),
  paused_at: nullable(
    Type.String({ format: 'date-time' }),
    'LandingPausedAt',
    'Time at which the campaign or offer was paused because of this page. `null` if it was not paused, or if the ' +
      'page works again.',
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

/** Owner of a landing page: a campaign, or an offer whose secondary action opens the page. */
export type LandingPageOf = 'campaign' | 'offer';

/**
 * Returns the latest landing page checks, keyed by campaign ID or offer ID. Pages that have never been checked are left
 * out.
 */
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

/** Fields about the landing page in campaign responses. */
export const landingAdditions: Additions = {
  fields: {
    landing_page: orNull(view, {
      title: 'CampaignLandingPage',
      description:
        'Result of the last check of the landing page, or `null` before the first check. Read-only: not part of ' +
        'the ETag, and ignored in request bodies.',
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

/** Fields about the secondary action's landing page in offer responses. */
export const actionAdditions: Additions = {
  fields: {
    action_page: orNull(view, {
      title: 'OfferActionPage',
      description:
        "Result of the last check of the secondary action's page (`useraction_url`). `null` before the first " +
        'check, or without a secondary action. Read-only: not part of the ETag, and ignored in request bodies.',
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
