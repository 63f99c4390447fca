import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Type } from '@sinclair/typebox';
import { type Additions, shownSchema } from '../management/additions.ts';
import { rowAnswer, warningSchema } from '../management/answers.ts';
import { nameField, text } from '../management/fields.ts';
import {
  fieldsOf,
  forLimitedKeys,
  type ManagementHttp,
  post,
  publisherQuery,
  requirePermission,
} from '../management/http.ts';
import {
  createBody,
  orNull,
  type Resource,
  stamps,
  timestamp,
  type Values,
  type View,
} from '../management/resource.ts';
import { idempotencyKey, resourceRoutes } from '../management/resource-routes.ts';
import { createRow } from '../management/rows.ts';
import type { PermissionEntry, Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { ErrorDetail } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { hashKey, type Permission } from '../platform/http/auth.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { dayMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { checkRestrictions, prepareRestrictions, restrictionFields } from './keys/restrictions.ts';
import { requireAtMost } from './roles.ts';

/**
 * Resource for API keys (docs/reference/access-and-errors.md#api-keys):
 * - An actor cannot create, change or revoke a key that has more permissions than the actor.
 * - A key cannot give itself or another key a later expiry or a higher rate limit than its own.
 * - Keys created by a rate-limited key share its limit.
 * @param permissions permissions of all modules
 */
export const keysOf = (permissions: readonly PermissionEntry[]): Resource => ({
  name: 'keys',
  noun: 'key',
  table: 'api_keys',
  key: 'id',
  permission: 'configurations',
  input: Type.Object(
    {
      name: nameField(),
      permissions: Type.Array(Type.Union(permissions.map(({ name }) => Type.Literal(name))), {
        minItems: 1,
        uniqueItems: true,
      }),
      rate_limit_per_s: orNull(Type.Integer({ minimum: 1, maximum: 1_000_000 }), {
        default: null,
        description: 'Rate limit in requests per second, or `null` for no limit.',
      }),
      expires_at: orNull(text(40), {
        default: null,
        description: 'Expiry as an RFC 3339 time, or `null` if the key never expires.',
      }),
      ...restrictionFields,
    },
    { additionalProperties: false },
  ),
  readOnly: {
    hint: Type.String({ description: 'First characters of the key.' }),
    ...stamps,
    revoked_at: orNull(timestamp(), { description: 'Time when the key was revoked, or `null`.' }),
    limited_by_keys: Type.Array(Type.Integer(), {
      description: 'IDs of the keys that created this key. Its calls also count against their rate limits.',
    }),
  },
  removedAt: 'revoked_at',
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz' },
  filters: [],
  searched: ['name', 'hint'],
  prepare: (input) => {
    const values = prepareRestrictions(input);
    const atMs = typeof values.expires_at === 'string' ? timeOf(values.expires_at) : null;
    return atMs === null || Number.isNaN(atMs) ? values : { ...values, expires_at: new Date(atMs).toISOString() };
  },
  check: async (values, work, current) => {
    const { actor } = work;
    requireAtMost(actor, values.permissions as Permission[]);
    if (current !== null) requireAtMost(actor, current.permissions as Permission[]);
    const isChanged = (name: string): boolean => current === null || !isDeepStrictEqual(current[name], values[name]);
    return [
      ...(isChanged('expires_at') ? await checkExpiry(values, work) : []),
      ...(isChanged('rate_limit_per_s') ? checkRate(values, actor.ratePerS) : []),
      ...checkRestrictions(values, actor, isChanged),
    ];
  },
  beforeRemove: async ({ actor }, current) => requireAtMost(actor, current.permissions as Permission[]),
});

/** Creates a key. `secret` is the key itself, which is not available later, because only its digest is stored. */
export async function createKey(keys: Resource, work: Work, input: unknown): Promise<{ view: View; secret: string }> {
  const secret = `pk_${randomBytes(24).toString('base64url')}`;
  const stored = {
    key_hash: Buffer.from(hashKey(secret), 'hex'),
    hint: secret.slice(0, 7),
    limited_by_keys: await limitsOfMaker(work),
  };
  return { view: await createRow({ ...keys, initial: () => stored }, work, input), secret };
}

/** Returns the IDs of the keys whose rate limits a new key shares. */
async function limitsOfMaker({ executor, actor }: Work): Promise<number[]> {
  if (actor.kind !== 'key') return [];
  const { rows } = await executor.query<{ ids: number[] }>(
    `select limited_by_keys || case when rate_limit_per_s is null then '{}' else array[id] end as ids
    from api_keys where id = $1`,
    [actor.id],
  );
  return rows[0]?.ids ?? [];
}

function checkRate({ rate_limit_per_s: rate }: Values, mostPerS: number | null): ErrorDetail[] {
  if (mostPerS === null || (rate !== null && Number(rate) <= mostPerS)) return [];
  const message = problem('beyondRate', { max: mostPerS });
  return [{ path: '/rate_limit_per_s', message }];
}

async function checkExpiry({ expires_at }: Values, work: Work): Promise<ErrorDetail[]> {
  const {
    actor: { expiresAtMs: latestMs },
    nowMs,
  } = work;
  const refused = (message: Problem): ErrorDetail[] => [{ path: '/expires_at', message }];
  const atMs = expires_at === null ? Number.POSITIVE_INFINITY : (timeOf(expires_at as string) ?? 0);
  if (Number.isNaN(atMs)) return refused(problem('timeWithOffset'));
  if (atMs <= nowMs) return refused(problem('futureTime'));
  const mostDays = await mostDaysOf(work);
  if (mostDays !== null && atMs > nowMs + mostDays * dayMs) return refused(problem('keyMaxDays', { max: mostDays }));
  if (latestMs === null || atMs <= latestMs) return [];
  return refused(problem('keyOutlives', { latest: new Date(latestMs).toISOString() }));
}

/** Returns the maximum lifetime of a publisher's new keys, in days, or null if there is no limit. */
export async function mostDaysOf({ executor, publisherId }: Work): Promise<number | null> {
  const { rows } = await executor.query<{ days: number | null }>(
    'select key_max_days as days from publishers where id = $1',
    [publisherId],
  );
  return rows[0]?.days ?? null;
}

/**
 * Returns the time when a publisher's first key was created, in epoch milliseconds, even if the key was revoked.
 * Returns null if the publisher never had a key.
 */
export async function firstKeyAt(executor: Executor, publisherId: number): Promise<number | null> {
  const { rows } = await executor.query<{ at: Date | null }>(
    'select min(created_at) as at from api_keys where publisher_id = $1',
    [publisherId],
  );
  return rows[0]?.at?.getTime() ?? null;
}

/** Stores an API key with a fixed value, for demos and tests. */
export async function storeKnownKey(
  executor: Executor,
  row: { publisherId: number; name: string; key: string; permissions: readonly Permission[] },
): Promise<void> {
  await executor.query(
    "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, $2, decode($3, 'hex'), $4)",
    [row.publisherId, row.name, hashKey(row.key), row.permissions],
  );
}

/** Registers the `/manage/v1/keys` routes. Only the response to `POST` contains the key itself. */
export function keyRoutes(app: App, http: ManagementHttp, keys: Resource): void {
  resourceRoutes(app, http, keys, ['list', 'get', 'update', 'remove']);
  const data = Type.Object(
    {
      ...shownSchema(http.additions, keys).properties,
      key: Type.String({ description: 'Secret key. It is shown only in this response.' }),
    },
    { title: 'NewKey' },
  );
  const schema = {
    operationId: 'createKey',
    summary: 'Create a key',
    description:
      "Returns the secret key, which is shown only in this response. A key can't have more permissions than the " +
      'key that creates it.',
    tags: ['Keys'],
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: createBody(keys),
    response: {
      201: Type.Object({ message: Type.String(), data, warnings: warningSchema }),
      ...errorAnswers(400, 401, 403, 404, 409, 422),
    },
  };
  app.post(
    '/manage/v1/keys',
    { schema, ...requirePermission(http, keys.permission), ...forLimitedKeys },
    (request, reply) =>
      post(http, request, reply, async (work) => {
        const { view, secret } = await createKey(keys, work, fieldsOf(request));
        const answer = await rowAnswer(http, keys, work, view, {
          message: 'Key created. It is shown only once.',
          status: 201,
        });
        return { ...answer, body: { ...answer.body, data: { ...answer.body.data, key: secret } } };
      }),
  );
}

/**
 * Key fields in responses that are not stored in the key's database row, so that using a key does not change its ETag.
 */
export const keyAdditions: Additions = {
  fields: {
    last_used_at: orNull(timestamp(), {
      title: 'LastUsedAt',
      description:
        'Time of the latest call, to the minute and with a delay of up to two minutes; `null` if the key was never ' +
        'used. Read-only: not part of the ETag, and ignored in request bodies.',
    }),
  },
  read: async ({ executor }, rows) => {
    const { rows: useRows } = await executor.query<{ key_id: number; used_at: Date }>(
      'select key_id, used_at from api_key_uses where key_id = any($1)',
      [rows.map(({ id }) => id)],
    );
    const uses = new Map(useRows.map(({ key_id, used_at }) => [key_id, used_at.toISOString()]));
    return ({ id }) => ({ last_used_at: uses.get(id as number) ?? null });
  },
  warn: async () => [],
};

export type ExpiringKey = {
  id: number;
  publisherId: number;
  name: string;
  expiresAt: Date;
  lastUsedAt: Date | null;
  /** Shortest notice period that covers the time until the key expires, in days. */
  days: number;
};

/**
 * Finds keys that expire within one of the given notice periods, in days. Periods longer than the key's initial
 * lifetime are ignored.
 */
export async function findExpiringKeys(
  executor: Executor,
  days: readonly number[],
  nowMs: number,
): Promise<ExpiringKey[]> {
  const { rows } = await executor.query<ExpiringKey>(
    `select k.id, k.publisher_id as "publisherId", k.name, k.expires_at as "expiresAt", u.used_at as "lastUsedAt",
      within.days
    from api_keys k left join api_key_uses u on u.key_id = k.id
      cross join lateral (
        select min(days) as days from unnest($1::integer[]) as days
        where k.expires_at <= $2::timestamptz + make_interval(days => days)
      ) as within
    where k.revoked_at is null and k.expires_at > $2::timestamptz
      and k.created_at <= k.expires_at - make_interval(days => within.days)
    order by k.id`,
    [days, new Date(nowMs)],
  );
  return rows;
}
