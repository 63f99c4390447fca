import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { orNull } from '../../management/resource.ts';
import { strictBody } from '../../management/strict-body.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers, exactNumber } from '../../platform/http/schemas.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { findAudience } from '../audiences.ts';
import { emailHashOf, emailKeys } from '../profile-keys.ts';
import type { RuleEstimate } from '../rules/estimate.ts';
import { checkRule, type Rule, ruleSchema } from '../rules/rule.ts';
import { refusalOfId } from '../user-ids.ts';
import { findMembership, readOverlap } from './queries.ts';
import { findUses } from './uses.ts';

const path = '/manage/v1/audiences';
const tags = ['Audiences'];
const params = Type.Object({ key: Type.String() });
type KeyRoute = { Params: Static<typeof params> };

const count = (description: string) => Type.Integer({ description });

const estimateBody = Type.Object(
  { rule: ruleSchema },
  { title: 'AudienceEstimateRequest', additionalProperties: false },
);
const usersByTimes = Type.Object({ times: Type.Integer(), users: Type.Integer() }, { title: 'UsersByTimes' });
const estimateAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      users: count('Number of users who would be members now.'),
      by_times: Type.Array(usersByTimes, { description: 'Number of users for each minimum number of events.' }),
    }),
  },
  { title: 'AudienceEstimateAnswer' },
);

const checkBody = Type.Object(
  {
    id: Type.Optional(
      Type.Union([Type.String({ maxLength: 256 }), exactNumber], { description: 'User ID (`pub_user_id`).' }),
    ),
    sha256_email: Type.Optional(
      Type.String({ maxLength: 80, description: 'SHA-256 hash of an e-mail address. Send either this or `id`.' }),
    ),
  },
  { title: 'MembershipQuery', additionalProperties: false },
);
const checkAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      is_member: Type.Boolean(),
      expires_at: orNull(Type.String({ format: 'date-time' }), {
        title: 'MembershipEnd',
        description: 'End of the membership. `null` if it does not expire, or if the user is not a member.',
      }),
      events: Type.Array(Type.String({ format: 'date-time' }), {
        description: "Times of the events that count towards the audience's rule, newest first. At most 100.",
      }),
    }),
  },
  { title: 'MembershipAnswer' },
);

const overlapQuery = Type.Object({
  ...publisherQuery.properties,
  with: Type.String({ maxLength: 64, description: 'Key of the other audience.' }),
});
const overlapAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      users: count('Number of users who are in both audiences.'),
      size: count('Number of members of the audience.'),
      other_size: count('Number of members of the other audience.'),
    }),
  },
  { title: 'AudienceOverlapAnswer' },
);

const sides = (['include', 'exclude'] as const).map((side) => Type.Literal(side));
const useView = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('campaign'),
      id: Type.Integer(),
      name: Type.String(),
      active: Type.Boolean(),
      side: Type.Union(sides),
    },
    { title: 'CampaignUse' },
  ),
  Type.Object(
    { kind: Type.Literal('audience'), key: Type.String(), name: Type.String() },
    { title: 'AudienceRuleUse' },
  ),
]);
const usesAnswer = Type.Object({ message: Type.String(), data: Type.Array(useView) }, { title: 'AudienceUsesAnswer' });

type RouteDeps = {
  http: ManagementHttp;
  userKeys: UserKeys;
  /** Estimates a rule. Returns null if there are too many events. */
  estimate: (publisherId: number, rule: Rule) => Promise<RuleEstimate | null>;
};

/** Registers the routes that answer questions about audiences (docs/guides/audiences.md#audiences-in-the-dashboard). */
export async function insightRoutes(app: App, { http, userKeys, estimate }: RouteDeps): Promise<void> {
  const { management } = http;
  const permitted = requirePermission(http, 'configurations');
  const reads = { config: { effect: 'read' } } as const;

  const estimateSchema = {
    operationId: 'estimateAudience',
    summary: 'Estimate the size of an audience',
    description:
      'Counts the users that a rule would select now, without creating an audience. Returns 429 if another estimate ' +
      'is running, and 400 if there are too many events to count them within 5 seconds.',
    tags,
    querystring: publisherQuery,
    body: estimateBody,
    response: { 200: estimateAnswer, ...errorAnswers(400, 401, 403, 429) },
  };
  app.post(`${path}/estimate`, { schema: estimateSchema, ...permitted, ...strictBody, ...reads }, async (request) => {
    const { publisherId } = callOf(request);
    const { rule } = request.body as Static<typeof estimateBody>;
    const details = checkRule(rule);
    if (details.length > 0) throw new AppError('invalid_request', { details });
    const result = await estimate(publisherId, rule);
    if (result === null) throw new AppError('invalid_request', { message: problem('estimateTooLarge') });
    return { message: 'Audience estimated.', data: { users: result.users, by_times: [...result.byTimes] } };
  });

  const checkSchema = {
    operationId: 'checkAudienceMember',
    summary: 'Check whether a user is a member',
    description: 'Returns whether a user is in the audience, until when, and the events that count for its rule.',
    tags,
    params,
    querystring: publisherQuery,
    body: checkBody,
    response: { 200: checkAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  const checkOptions = { schema: checkSchema, ...permitted, ...strictBody, ...reads };
  app.post<KeyRoute>(`${path}/:key/members/check`, checkOptions, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const keys = keysIn(request.body as Static<typeof checkBody>, userKeys, publisherId);
    const { isMember, expiresAt, facts } = await management.read(actor, publisherId, async (work) => {
      const { id } = await findAudience(work, request.params.key);
      return findMembership(work.executor, id, keys, work.nowMs);
    });
    reply.header('cache-control', 'no-store');
    const events = facts.map((at) => at.toISOString());
    const data = { is_member: isMember, expires_at: expiresAt?.toISOString() ?? null, events };
    return { message: 'Membership checked.', data };
  });

  const overlapSchema = {
    operationId: 'getAudienceOverlap',
    summary: 'Count the users in two audiences',
    description: 'Returns how many users are members of both audiences, and the size of each audience.',
    tags,
    params,
    querystring: overlapQuery,
    response: { 200: overlapAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.get<KeyRoute>(`${path}/:key/overlap`, { schema: overlapSchema, ...permitted }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { with: other } = request.query as { with?: unknown };
    const { users, size, otherSize } = await management.read(actor, publisherId, async (work) => {
      const [a, b] = [await findAudience(work, request.params.key), await findAudience(work, String(other ?? ''))];
      return readOverlap(work.executor, a.id, b.id, work.nowMs);
    });
    reply.header('cache-control', 'no-store');
    return { message: 'Overlap counted.', data: { users, size, other_size: otherSize } };
  });

  const usesSchema = {
    operationId: 'listAudienceUses',
    summary: 'List the uses of an audience',
    description:
      'Returns the campaigns that include or exclude the audience, and the audiences whose rules are limited to it. ' +
      'An audience that is in use cannot be removed.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: usesAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get<KeyRoute>(`${path}/:key/uses`, { schema: usesSchema, ...permitted }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await management.read(actor, publisherId, async (work) =>
      findUses(work, (await findAudience(work, request.params.key)).key),
    );
    reply.header('cache-control', 'no-store');
    return { message: 'Uses found.', data };
  });
}

const invalid = (path: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path, message }] });

/**
 * Returns the keys of the user in a request.
 * @throws AppError invalid_request
 */
function keysIn(query: Static<typeof checkBody>, userKeys: UserKeys, publisherId: number): string[] {
  const { id, sha256_email: hash } = query;
  if ((id === undefined) === (hash === undefined)) throw invalid('/', problem('idOrEmail'));
  if (id !== undefined) {
    const user = refusalOfId(id);
    if (user.refusal !== null) throw invalid('/id', user.refusal.message);
    return userKeys.allOf(publisherId, user.id);
  }
  const emailHash = emailHashOf(hash ?? '');
  if (emailHash === null) throw invalid('/sha256_email', problem('hexDigits'));
  return emailKeys(userKeys, publisherId, emailHash);
}
