import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import { AppError } from '../platform/errors.ts';
import { dayMs, hourMs, minuteMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { isToken } from '../platform/security/random-token.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { formOf, onceFieldName, rowsField, type SubmitOnce, viewerOf } from '../shell/context.ts';
import { isFragmentRequest } from '../shell/pages.ts';
import type { Work } from './unit-of-work.ts';

/** Time for which a repeated request gets the stored response, in milliseconds. */
const keptMs = dayMs;

export type StoredResponse = { status: number; body: Record<string, unknown>; headers: Record<string, string> };

/** Returns the encryption context for a stored response: publisher, actor and idempotency key. */
const contextOf = (row: readonly unknown[]): string => `idempotency-key ${row.join(' ')}`;

export const sealedAnswers = sealedColumn({
  table: 'idempotency_keys',
  column: 'response_sealed',
  key: ['publisher_id', 'actor', 'key'],
  context: contextOf,
});

type Call = { key: string; request: string; box: SecretBox };

/**
 * Runs `make` only once per actor, publisher and Idempotency-Key. A repeated call within a day gets the first response.
 * A concurrent call waits for the first call's transaction. A failed call leaves no trace and may be retried. The
 * response is stored encrypted, because it may contain an API key that is shown only once.
 * @param call `request` is the text that must be identical in a repeated call: path and body
 * @throws AppError idempotency_key_reused if the key was already used for a different request
 */
export async function once(
  work: Work,
  { key, request, box }: Call,
  make: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new AppError('invalid_request', {
      details: [{ path: '/headers/idempotency-key', message: problem('headerValue', { max: 255 }) }],
    });
  const { executor, actor, publisherId, nowMs } = work;
  const row = [publisherId, `${actor.kind} ${actor.id}`, key];
  const requestHash = hash('sha256', request, 'buffer');
  const context = contextOf(row);
  const { rowCount } = await executor.query(
    `insert into idempotency_keys as a (publisher_id, actor, key, request_hash, created_at)
    values ($1, $2, $3, $4, $5)
    on conflict (publisher_id, actor, key) do update
    set request_hash = excluded.request_hash, status = null, response_sealed = null,
      created_at = excluded.created_at where a.created_at < $6`,
    [...row, requestHash, new Date(nowMs), new Date(nowMs - keptMs)],
  );
  const where = 'where publisher_id = $1 and actor = $2 and key = $3';
  if (rowCount === 0) {
    const { rows } = await executor.query<{ request_hash: Buffer; response_sealed: Buffer }>(
      `select request_hash, response_sealed from idempotency_keys ${where}`,
      row,
    );
    const storedRow = rows[0];
    if (storedRow === undefined || !storedRow.request_hash.equals(requestHash))
      throw new AppError('idempotency_key_reused');
    return JSON.parse(box.open(storedRow.response_sealed, context)) as StoredResponse;
  }
  const answer = await make();
  await executor.query(`update idempotency_keys set status = $4, response_sealed = $5 ${where}`, [
    ...row,
    answer.status,
    box.seal(JSON.stringify(answer), context),
  ]);
  return answer;
}

/** Time for which the result of a submitted form is stored, in milliseconds. */
const formMs = hourMs;
/** Time after which a submission without a result is repeated, because its process has presumably died. */
const abandonedMs = minuteMs;
const pauseMs = 200;

type FormDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; secretBox: SecretBox; now: () => number };

/**
 * Creates the function that runs a form's action once. A form that creates something contains a random token. If the
 * same user submits the same form with the same values again within an hour, the action does not run again, and its
 * first result is returned, even by another process. A submission that is still running is waited for. If the action
 * was rejected, nothing is stored, and the form can be submitted again. Results are encrypted, because a page may show
 * a new API key.
 */
export function createSubmitOnce({ pool, dbHealth, secretBox: box, now }: FormDeps): SubmitOnce {
  const failFast = createFailFast(dbHealth);
  return async (request, act, isDone) => {
    const form = formOf(request);
    const isOnce = isToken(form.get(onceFieldName) ?? '') && !form.has(rowsField) && !isFragmentRequest(request);
    if (!isOnce) return act();
    const { upload, portal, viewedPublisher, viewedAdvertiser, url } = request;
    const file = upload === null ? '' : hash('sha256', upload.bytes);
    const requestHash = hash('sha256', [url, form, file].join('\n'), 'buffer');
    const row = [
      viewedPublisher?.id ?? viewedAdvertiser?.publisherId ?? 0,
      portal === null ? `user ${viewerOf(request).user.id}` : `portal ${portal.id}`,
      // API clients cannot choose a key with a space.
      `form ${requestHash.toString('base64url')}`,
    ];
    const context = contextOf(row);
    const where = 'where publisher_id = $1 and actor = $2 and key = $3';
    for (;;) {
      const atMs = now();
      const { rowCount } = await failFast(() =>
        pool.query(
          `insert into idempotency_keys as a (publisher_id, actor, key, request_hash, created_at)
          values ($1, $2, $3, $4, $5)
          on conflict (publisher_id, actor, key) do update
          set response_sealed = null, created_at = excluded.created_at
          where a.created_at < $6 or (a.response_sealed is null and a.created_at < $7)`,
          [...row, requestHash, ...[atMs, atMs - formMs, atMs - abandonedMs].map((ms) => new Date(ms))],
        ),
      );
      if (rowCount === 1) return run(new Date(atMs));
      const { rows } = await failFast(() =>
        pool.query<{ response_sealed: Buffer | null }>(`select response_sealed from idempotency_keys ${where}`, row),
      );
      const sealed = rows[0]?.response_sealed;
      if (sealed) return JSON.parse(box.open(sealed, context));
      await setTimeout(pauseMs);
    }

    async function run(at: Date) {
      const own = `${where} and created_at = $4`;
      const forget = () => settle(`delete from idempotency_keys ${own}`, [...row, at]);
      const result = await act().catch(async (err: unknown) => {
        await forget();
        throw err;
      });
      if (!isDone(result)) await forget();
      else {
        const sealed = box.seal(JSON.stringify(result), context);
        await settle(`update idempotency_keys set response_sealed = $5 ${own}`, [...row, at, sealed]);
      }
      return result;
    }

    /** Runs a statement after the action. A failure must not fail the request, because the action has ended. */
    async function settle(statement: string, values: readonly unknown[]): Promise<void> {
      await pool
        .query(statement, [...values])
        .catch((err: unknown) => request.log.warn({ err }, 'result of a form was not stored'));
    }
  };
}

/**
 * Deletes stored responses of the API that are more than a day old, and of forms that are more than an hour old.
 * @returns number of deleted rows
 */
export async function deleteOldIdempotencyKeys(executor: Work['executor'], nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    "delete from idempotency_keys where created_at < $1 or (key like 'form %' and created_at < $2)",
    [new Date(nowMs - keptMs), new Date(nowMs - formMs)],
  );
  return rowCount ?? 0;
}
