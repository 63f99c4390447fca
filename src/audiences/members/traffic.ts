import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { orNull } from '../../management/resource.ts';
import { integers, uuids } from '../../platform/db/binary-array.ts';
import { sampleShare } from '../../platform/db/partitions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { findAudience } from '../audiences.ts';
import { profileKeysOf } from '../profile-keys.ts';

/** Number of sampled sessions, and maximum session age in milliseconds. */
const maxSessions = 10_000;
const lookBackMs = 7 * dayMs;

/** Maximum number of members in the sample. */
const maxSample = 10;

/** Member who has requested offers, with the latest session in the sample. The user's ID is not part of it. */
type SampledMember = { sessionId: string; at: Date; placement: string; expiresAt: Date | null };

/** Share of a publisher's sessions whose users are currently in an audience. Null if there are no sessions. */
export type Traffic = { share: number | null; sessions: number; members: readonly SampledMember[] };

type TrafficQuery = { publisherId: number; audienceId: number; userKeys: UserKeys; nowMs: number };

/**
 * Measures an audience's share of the traffic in the last 7 days, excluding test sessions. Uses either all sessions or
 * a random sample.
 */
export async function findTraffic(
  executor: Executor,
  { publisherId, audienceId, userKeys, nowMs }: TrafficQuery,
): Promise<Traffic> {
  const part = await sampleShare(executor, 'sessions', nowMs - lookBackMs);
  const { rows } = await executor.query<SampledSession>(
    `select id, created_at as at, placement, user_key as "userKey", pub_user_id as "pubUserId",
      decision::json -> 3 ->> 'emailKey' as "emailKey"
    from sessions tablesample system ($4)
    where day >= $2::date and created_at >= $3 and publisher_id = $1 and not dev limit $5`,
    [publisherId, dayOf(nowMs - lookBackMs), new Date(nowMs - lookBackMs), part * 100, maxSessions],
  );
  const keys = rows.flatMap(({ userKey, pubUserId, emailKey }, session) =>
    userKey === null
      ? []
      : [...profileKeysOf(publisherId, { pubUserId, emailSha256: null }, [userKey], userKeys).all, emailKey]
          .filter((key) => key !== null)
          .map((key) => ({ key, session })),
  );
  const { rows: matches } = await executor.query<MemberSession>(
    `select distinct on (given.session) given.session, m.user_key as "userKey", m.expires_at as "expiresAt"
    from unnest($1::uuid[], $2::integer[]) as given (user_key, session)
    join audience_members m on m.user_key = given.user_key and m.audience_id = $3
    where m.expires_at is null or m.expires_at > $4 order by given.session, m.user_key`,
    [uuids(keys, ({ key }) => key), integers(keys, ({ session }) => session), audienceId, new Date(nowMs)],
  );
  const share = rows.length === 0 ? null : matches.length / rows.length;
  return { share, sessions: rows.length, members: sampleOf(matches, rows) };
}

type SampledSession = {
  id: string;
  at: Date;
  placement: string;
  userKey: string | null;
  pubUserId: string | null;
  emailKey: string | null;
};

/** Session of a member, as its position in the list of sampled sessions. */
type MemberSession = { session: number; userKey: string; expiresAt: Date | null };

/** Returns the members with the latest sessions, each with one session. */
function sampleOf(matches: readonly MemberSession[], sessions: readonly SampledSession[]): SampledMember[] {
  const members = new Map<string, SampledMember>();
  for (const { session, userKey, expiresAt } of matches) {
    const { id: sessionId, at, placement } = sessions[session] as SampledSession;
    const latest = members.get(userKey);
    if (latest === undefined || latest.at < at) members.set(userKey, { sessionId, at, placement, expiresAt });
  }
  return [...members.values()].sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, maxSample);
}

const params = Type.Object({ key: Type.String() });
const answer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      key: Type.String(),
      share: orNull(Type.Number(), {
        title: 'TrafficShare',
        description: 'Share of the sessions whose user is now a member, from 0 to 1; `null` if there were no sessions.',
      }),
      sessions: Type.Integer({ description: 'Number of sessions in the sample.' }),
      members: Type.Array(
        Type.Object(
          {
            session_id: Type.String({ description: "Member's latest session in the sample." }),
            at: Type.String({ format: 'date-time' }),
            placement: Type.String(),
            expires_at: orNull(Type.String({ format: 'date-time' }), { title: 'SampledMembershipEnd' }),
          },
          { title: 'SampledMember' },
        ),
        { description: 'Up to 10 members who requested offers, latest first.' },
      ),
    }),
  },
  { title: 'AudienceTrafficAnswer' },
);

type Members = { http: ManagementHttp; userKeys: UserKeys };

/** Registers the route for an audience's share of the traffic (docs/reference/users-and-privacy.md#audiences). */
export async function trafficRoutes(app: App, { http, userKeys }: Members): Promise<void> {
  const schema = {
    operationId: 'getAudienceTraffic',
    summary: "Get an audience's share of traffic",
    description:
      'Returns the share, and a sample of members who requested offers. Based on all sessions of the last 7 days, or ' +
      'on a random sample of about 10,000.',
    tags: ['Audiences'],
    params,
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(401, 403, 404) },
  };
  app.get<{ Params: Static<typeof params> }>(
    '/manage/v1/audiences/:key/traffic',
    { schema, ...requirePermission(http, 'configurations') },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const { key } = request.params;
      const { members, ...traffic } = await http.management.read(actor, publisherId, async (work) => {
        const { id } = await findAudience(work, key);
        return findTraffic(work.executor, { publisherId, audienceId: id, userKeys, nowMs: work.nowMs });
      });
      reply.header('cache-control', 'no-store');
      const sample = members.map(({ sessionId, at, placement, expiresAt }) => ({
        session_id: sessionId,
        at: at.toISOString(),
        placement,
        expires_at: expiresAt?.toISOString() ?? null,
      }));
      return { message: 'Audience traffic found.', data: { key, ...traffic, members: sample } };
    },
  );
}
