import type { Additions } from '../management/additions.ts';
import { orNull, timestamp } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Job } from '../platform/jobs.ts';
import { minuteMs } from '../platform/lib/time.ts';

/** When keys were last used, collected in memory and written once a minute: no request writes for it. */
export type KeyUses = {
  note: (keyId: number) => void;
  /** Writes what was collected. What cannot be written is lost. */
  write: () => Promise<void>;
  job: Job;
};

export function createKeyUses(executor: Executor, now: () => number): KeyUses {
  let usedAtMs = new Map<number, number>();
  async function write(): Promise<void> {
    if (usedAtMs.size === 0) return;
    const collected = [...usedAtMs].sort(([one], [other]) => one - other);
    usedAtMs = new Map();
    await executor.query(
      `insert into api_key_uses (key_id, used_at)
      select id, date_trunc('minute', at) from unnest($1::integer[], $2::timestamptz[]) as used (id, at)
        join api_keys using (id)
      order by id
      on conflict (key_id) do update set used_at = excluded.used_at where api_key_uses.used_at < excluded.used_at`,
      [collected.map(([id]) => id), collected.map(([, atMs]) => new Date(atMs))],
    );
  }
  return {
    note: (keyId) => void usedAtMs.set(keyId, now()),
    write,
    job: {
      name: 'key uses',
      roles: ['api'],
      pauseMs: minuteMs,
      locks: 'rows of api_key_uses, in the order of their key',
      run: write,
      onStop: write,
    },
  };
}

/** What answers show of a key beside its row: a use changes no ETag. */
export const keyAdditions: Additions = {
  fields: {
    last_used_at: orNull(timestamp(), {
      title: 'LastUsedAt',
      description: 'To the minute, a minute or two later; null: never. Not part of the ETag; ignored in a body.',
    }),
  },
  read: async ({ executor }, rows) => {
    const { rows: found } = await executor.query<{ key_id: number; used_at: Date }>(
      'select key_id, used_at from api_key_uses where key_id = any($1)',
      [rows.map(({ id }) => id)],
    );
    const uses = new Map(found.map(({ key_id, used_at }) => [key_id, used_at.toISOString()]));
    return ({ id }) => ({ last_used_at: uses.get(id as number) ?? null });
  },
  warn: async () => [],
};
