import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import { orNull } from '../../management/resource.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers, noNul } from '../../platform/http/schemas.ts';
import { fromMicros } from '../../platform/money.ts';
import type { FindStory } from './find.ts';
import type { Story, StoryEntry } from './read.ts';

const dateTime = Type.String({ format: 'date-time' });

const entrySchema = Type.Object(
  {
    at: dateTime,
    kind: Type.String({
      description:
        '`fetch`, an event kind such as `click`, `confirmed`, `coupon`, `redeemed`, `cancelled`, `conversion`, ' +
        '`void`, `booking`, `postback`, `webhook` or `message`.',
    }),
    offer_id: orNull(Type.Integer()),
    counted: orNull(Type.Integer(), {
      description: 'What reports count: 1, 0 or -1. `null` for entries that reports do not count.',
    }),
    reason: orNull(Type.String(), {
      description: 'Why the entry is not counted or not billed, or why no offer was shown.',
    }),
    revenue: orNull(Type.Number()),
    unbilled: orNull(Type.Number()),
    currency: orNull(Type.String()),
    name: orNull(Type.String(), { description: 'Event name of a conversion or webhook, or kind of a message.' }),
    status: orNull(Type.String(), { description: 'Status of a webhook or message, or number of confirmed perks.' }),
    last_status: orNull(Type.Integer(), { description: 'HTTP status of the latest attempt of a webhook.' }),
    txn_id: orNull(Type.String()),
    delivery_id: orNull(Type.String()),
  },
  { title: 'StoryEntry' },
);

const schema = {
  operationId: 'findStory',
  summary: 'Find a session by any ID',
  description:
    'Returns everything that is stored about a session, oldest first. Accepts the ID of a session, a delivery, a ' +
    'conversion, a message or a user, a click ID, a transaction ID, a coupon code, or the e-mail address to which a ' +
    'message was sent. If several sessions match, returns the newest one.',
  tags: ['Decisions'],
  querystring: Type.Object({
    id: Type.String({ minLength: 1, maxLength: 256, pattern: noNul, description: 'ID to find.' }),
    publisher_id: publisherIdParameter,
  }),
  response: {
    200: Type.Object({
      message: Type.String(),
      data: Type.Object({
        kind: Type.String({
          description:
            'Kind of the ID: `session`, `delivery`, `click`, `transaction`, `conversion`, `coupon`, `user`, ' +
            '`message` or `address`.',
        }),
        session_ids: Type.Array(Type.String(), { description: 'Matching sessions, newest first. At most 50.' }),
        session: Type.Object({
          session_id: Type.String({ format: 'uuid' }),
          at: dateTime,
          stored: Type.Boolean({ description: 'Whether the session itself is still stored.' }),
          placement: orNull(Type.String()),
          country: orNull(Type.String()),
          device: orNull(Type.String()),
          os: orNull(Type.String()),
          pub_user_id: orNull(Type.String()),
          offer_ids: Type.Array(Type.Integer()),
          dev: Type.Boolean(),
          erased_at: orNull(dateTime, { description: 'When the personal data of the user was erased.' }),
        }),
        entries: Type.Array(entrySchema),
      }),
    }),
    ...errorAnswers(400, 401, 403, 404),
  },
};

type StoryDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  auth: Authenticator<Caller>;
  findStory: FindStory;
};

/** Registers the route that finds a session by any ID (docs/guides/reports.md#find-a-record). */
export async function storyRoutes(app: App, { dbHealth, auth, findStory }: StoryDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);
  const preValidation = auth.requireKey('configurations', 'accounts');
  app.get('/manage/v1/story', { schema, preValidation }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const { id } = request.query;
    reply.header('cache-control', 'no-store');
    const [match] = await failFast(() => findStory.resolve(publisherId, id));
    const [sessionId] = match?.sessionIds ?? [];
    if (match === undefined || sessionId === undefined) throw findStory.missing(id);
    const story = await failFast(() => findStory.read(publisherId, sessionId));
    if (story === null) throw new AppError('session_not_found');
    if (story.asOf !== null) reply.header('perkwire-as-of', story.asOf.toISOString());
    const { kind, sessionIds } = match;
    return {
      message: 'Session found.',
      data: { kind, session_ids: [...sessionIds], session: sessionView(story), entries: story.entries.map(entryView) },
    };
  });
}

const sessionView = ({ sessionId, at, session }: Story) => ({
  session_id: sessionId,
  at: at.toISOString(),
  stored: session !== null,
  placement: session?.placement ?? null,
  country: session?.country ?? null,
  device: session?.device ?? null,
  os: session?.os ?? null,
  pub_user_id: session?.pub_user_id ?? null,
  offer_ids: session?.offer_ids ?? [],
  dev: session?.dev ?? false,
  erased_at: session?.erased_at?.toISOString() ?? null,
});

const entryView = ({ at, kind, offerId, counted, reason, money, ...rest }: StoryEntry) => ({
  at: at.toISOString(),
  kind,
  offer_id: offerId,
  counted,
  reason,
  revenue: money && fromMicros(money.revenueMicros),
  unbilled: money && fromMicros(money.unbilledMicros),
  currency: money?.currency ?? null,
  name: rest.name,
  status: rest.status,
  last_status: rest.lastStatus,
  txn_id: rest.txnId,
  delivery_id: rest.deliveryId,
});
