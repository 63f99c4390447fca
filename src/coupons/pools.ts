import { type Static, Type } from '@sinclair/typebox';
import { audit } from '../management/audit.ts';
import { text } from '../management/fields.ts';
import { orNull, type View } from '../management/resource.ts';
import { checkValue, patternProblem } from '../management/schema-errors.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError, notFound } from '../platform/errors.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { problem } from '../platform/problem.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { maxCodeLength, refuseCode } from './code-text.ts';
import { fallbackContext } from './seals.ts';

const isoPattern = '^20\\d\\d-[01]\\d-[0-3]\\dT[0-2]\\d:[0-5]\\d:[0-5]\\d(\\.\\d{1,3})?(Z|[+-][01]\\d:[0-5]\\d)$';
const timeProblem = problem('timeSuchAs');

/** Schema of a pool's settings. */
export const poolInput = Type.Object(
  {
    give_at: Type.Union([Type.Literal('wrap'), Type.Literal('save'), Type.Literal('click')], {
      description:
        'When a user gets a code: when the session is wrapped, when the offer is saved, or when it is clicked.',
    }),
    terms: text(1000, { description: 'Terms that are shown next to the code, as plain text.' }),
    expires_at: orNull(Type.String({ pattern: isoPattern, [patternProblem]: timeProblem })),
    valid_days: orNull(Type.Integer({ minimum: 1, maximum: 3660 })),
    hold_minutes: orNull(Type.Integer({ minimum: 1, maximum: 1440 })),
    fallback_code: orNull(
      Type.String({ maxLength: maxCodeLength, description: 'Code for all users after the pool is empty.' }),
    ),
    low_share: Type.Integer({ minimum: 0, maximum: 100 }),
    low_hours: Type.Integer({ minimum: 0, maximum: 1000 }),
  },
  { additionalProperties: false },
);

type PoolInput = Partial<Static<typeof poolInput>>;

/** Schema of a pool in responses. The fallback code is left out because it is secret. */
export const poolView = Type.Object(
  {
    offer_id: Type.Integer(),
    kind: Type.Union([Type.Literal('codes'), Type.Literal('shared')]),
    shared_code: Type.Union([Type.String(), Type.Null()]),
    give_at: poolInput.properties.give_at,
    terms: Type.String(),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    valid_days: Type.Union([Type.Integer(), Type.Null()]),
    hold_minutes: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Time in minutes for which a selected offer holds a code before the wrap.',
    }),
    has_fallback: Type.Boolean(),
    low_share: Type.Integer({ description: 'Remaining share of the codes, in percent, below which the stock is low.' }),
    low_hours: Type.Integer({ description: "Hours of remaining stock at today's rate, below which the stock is low." }),
    paused_since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'Time at which the offer was paused because its pool was empty.',
    }),
  },
  { title: 'CouponPool' },
);

export type PoolView = Static<typeof poolView>;

const auditedAs: { name: string; key: 'id' | 'name' | 'key' } = { name: 'coupon-pools', key: 'id' };

/**
 * Checks that an offer belongs to the publisher, and returns its ID.
 * @throws AppError resource_not_found
 */
export async function requireOffer({ executor, publisherId }: Work, text: string): Promise<number> {
  const id = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  const { rowCount } = await executor.query(
    'select from offers where id = $1 and publisher_id = $2 and deleted_at is null',
    [id, publisherId],
  );
  if (rowCount !== 1) throw notFound('offer');
  return id;
}

type PoolRow = Omit<PoolView, 'expires_at' | 'paused_since'> & { expires_at: Date | null; paused_since: Date | null };

/**
 * Finds the pool of an offer.
 * @returns null if the offer has no codes
 */
export async function findPool(executor: Executor, offerId: number): Promise<PoolView | null> {
  const { rows } = await executor.query<PoolRow>(
    `select offer_id, case when shared_code is null then 'codes' else 'shared' end as kind, shared_code, give_at, terms,
      expires_at, valid_days, hold_minutes, fallback_sealed is not null as has_fallback, low_share, low_hours,
      drained_at as paused_since
    from coupon_pools where offer_id = $1`,
    [offerId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const [expires, paused] = [row.expires_at, row.paused_since];
  return { ...row, expires_at: expires?.toISOString() ?? null, paused_since: paused?.toISOString() ?? null };
}

/**
 * Returns the pool of an offer.
 * @throws AppError resource_not_found
 */
export async function requirePool(executor: Executor, offerId: number): Promise<PoolView> {
  const pool = await findPool(executor, offerId);
  if (pool === null) throw notFound('coupon pool');
  return pool;
}

/**
 * Creates an empty pool if the offer has none. The empty pool pauses the offer.
 * @returns whether a pool was created
 */
export async function ensurePool(work: Work, offerId: number): Promise<boolean> {
  const { executor, publisherId, nowMs } = work;
  const { rowCount } = await executor.query(
    `insert into coupon_pools (offer_id, publisher_id, drained_at) values ($1, $2, $3) on conflict do nothing`,
    [offerId, publisherId, new Date(nowMs)],
  );
  if (rowCount === 0) return false;
  await executor.query(
    `insert into coupon_stock (offer_id, next_position, last_position)
    select $1, number * 1000000000 + 1, number * 1000000000 from nextval('coupon_pool_numbers') number`,
    [offerId],
  );
  await auditPool(work, offerId, null, await findPool(executor, offerId));
  return true;
}

const isPast = (time: string, nowMs: number): boolean => (timeOf(time) ?? Number.NaN) <= nowMs;

/** Whether a submitted expiry equals the stored one. */
const isSameTime = (time: string, stored: string | null): boolean =>
  stored !== null && timeOf(time) === Date.parse(stored);

/**
 * Updates those pool settings that the body contains. An expiry in the past is rejected unless it is already the stored
 * expiry.
 * @throws AppError invalid_request, resource_not_found
 */
export async function changePool(work: Work, box: SecretBox, offerId: number, body: unknown): Promise<PoolView> {
  const { executor, nowMs } = work;
  if (typeof body !== 'object' || body === null)
    throw new AppError('invalid_request', { details: [{ path: '/', message: problem('isObject') }] });
  const details = checkValue(Type.Partial(poolInput, { additionalProperties: false }), body);
  const input = body as PoolInput;
  const fallback = details.length === 0 ? input.fallback_code?.trim() : undefined;
  const refused = fallback === undefined ? null : refuseCode(fallback);
  if (refused !== null) details.push({ path: '/fallback_code', message: refused });
  if (details.length === 0 && input.expires_at != null && Number.isNaN(timeOf(input.expires_at)))
    details.push({ path: '/expires_at', message: timeProblem });
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const before = await requirePool(executor, offerId);
  if (input.expires_at != null && isPast(input.expires_at, nowMs) && !isSameTime(input.expires_at, before.expires_at))
    throw new AppError('invalid_request', {
      details: [{ path: '/expires_at', message: problem('poolEndPast') }],
    });
  const set = Object.entries(input).map(([name, value]) =>
    name === 'fallback_code'
      ? ['fallback_sealed', fallback === undefined ? null : box.seal(fallback, fallbackContext([offerId]))]
      : [name, value],
  );
  const assignments = set.map(([name], index) => `${String(name)} = $${index + 3}`);
  await executor.query(
    `update coupon_pools set ${[...assignments, 'updated_at = $2'].join(', ')} where offer_id = $1`,
    [offerId, new Date(nowMs), ...set.map(([, value]) => value)],
  );
  await markStock(executor, offerId, nowMs);
  const after = await requirePool(executor, offerId);
  await auditPool(work, offerId, before, after);
  return after;
}

/**
 * Sets the code that all users of a pool share.
 * @throws AppError conflict while the pool has individual codes
 */
export async function shareCode(work: Work, offerId: number, code: string): Promise<void> {
  const before = await requirePool(work.executor, offerId);
  const { rows } = await work.executor.query<{ remaining: string }>(
    `select last_position - next_position + 1 as remaining from coupon_stock where offer_id = $1 for update`,
    [offerId],
  );
  if (Number(rows[0]?.remaining) > 0) throw new AppError('conflict', { message: problem('poolHasCodes') });
  await work.executor.query('update coupon_pools set shared_code = $2 where offer_id = $1', [offerId, code]);
  await markStock(work.executor, offerId, work.nowMs);
  await auditPool(work, offerId, before, await requirePool(work.executor, offerId));
}

/** Stores the odds of guessing a code from a pattern, if the pool's other patterns are harder to guess. */
export async function noteOdds(executor: Executor, offerId: number, odds: number): Promise<void> {
  await executor.query(
    'update coupon_pools set guess_odds = least(guess_odds, $2) where offer_id = $1 and guess_odds is distinct from $2',
    [offerId, odds],
  );
}

/** Deletes the odds of guessing a code if no user has or holds a code of the pool. */
export async function forgetOdds(executor: Executor, offerId: number): Promise<void> {
  await executor.query(
    `update coupon_pools p set guess_odds = null from coupon_stock s
    where p.offer_id = $1 and s.offer_id = $1 and s.given + s.held = 0 and p.guess_odds is not null`,
    [offerId],
  );
}

/** Removes a pool with all its codes. Issued codes are retained until the end of the retention period. */
export async function removePool(work: Work, offerId: number): Promise<void> {
  const before = await requirePool(work.executor, offerId);
  await work.executor.query('delete from coupon_pools where offer_id = $1', [offerId]);
  await auditPool(work, offerId, before, null);
}

/** Pauses the offer if its pool is empty or expired, and resumes it once codes are available again. */
export async function markStock(executor: Executor, offerId: number | null, nowMs: number): Promise<void> {
  await executor.query(
    `with state as (
      select p.offer_id, p.fallback_sealed is null and (
          coalesce(p.expires_at <= $2::timestamptz, false)
          or p.shared_code is null and s.next_position > s.last_position and not exists (
            select from coupons c
            where c.offer_id = p.offer_id and c.held_until is not null and c.held_until <= $2::timestamptz
          )
        ) as drained
      from coupon_pools p join coupon_stock s using (offer_id)
      where $1::integer is null or p.offer_id = $1
    )
    update coupon_pools p set drained_at = case when state.drained then $2::timestamptz end
    from state where state.offer_id = p.offer_id and state.drained <> (p.drained_at is not null)`,
    [offerId, new Date(nowMs)],
  );
}

async function auditPool(work: Work, offerId: number, before: PoolView | null, after: PoolView | null): Promise<void> {
  const viewOf = (pool: PoolView | null): View | null => pool && { id: offerId, ...pool };
  const action = before === null ? 'create' : after === null ? 'remove' : 'update';
  await audit(work, { resource: auditedAs, action, before: viewOf(before), after: viewOf(after) });
}

/** Inserts an audit log entry for added or removed codes. */
export async function auditCodes(work: Work, offerId: number, changes: { added?: number; removed?: number }) {
  const zeros = Object.fromEntries(Object.keys(changes).map((name) => [`codes_${name}`, 0]));
  const counts = Object.fromEntries(Object.entries(changes).map(([name, count]) => [`codes_${name}`, count]));
  const before = { id: offerId, ...zeros };
  await audit(work, { resource: auditedAs, action: 'update', before, after: { id: offerId, ...counts } });
}
