import { hash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { sealedColumn } from '../platform/security/sealed-column.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
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

/**
 * Deletes stored responses that are more than a day old.
 * @returns number of deleted rows
 */
export async function deleteOldIdempotencyKeys(executor: Work['executor'], nowMs: number): Promise<number> {
  const { rowCount } = await executor.query('delete from idempotency_keys where created_at < $1', [
    new Date(nowMs - keptMs),
  ]);
  return rowCount ?? 0;
}
