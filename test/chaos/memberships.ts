import type pg from 'pg';
import { createPublisher } from '../../bench/catalogue.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { createUserKeys } from '../../src/platform/security/user-key.ts';
import { freePort, processSecrets, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { type CallAt, createCalls } from './perks.ts';

/** Result of a membership run. All values after `unanswered` must be 0. */
export type MembershipVerdict = {
  ok: boolean;
  kills: number;
  /** Number of concurrent changes. */
  parallel: number;
  /**
   * Number of changes that were answered with 200. The next fields count how many of them were retried, and how many
   * changes were never answered.
   */
  changes: number;
  repeated: number;
  unanswered: number;
  /**
   * Number of user groups that differ from the last response. The next field counts groups of which only some users are
   * members.
   */
  wrong: number;
  half: number;
  /** Difference between the displayed audience size and the number of members. */
  size: number;
};

type Size = { kills: number; parallel: number };

const key = 'chaos-memberships';
const path = '/manage/v1/audiences/list';
/** Number of users that one change adds or removes. */
const usersOf = 5;

/** A group of users who are added and removed together. `isMember` is null if the last change was not answered. */
type Group = { ids: string[]; isMember: boolean | null };

/**
 * Runs rounds of concurrent changes on two processes, one of which is killed at a random response. Each change adds or
 * removes a group of users, by API call or file import. Half of the interrupted changes are retried on the other
 * process.
 */
export async function membershipRun(
  seed: number,
  { databaseUrl, pool, kills, parallel }: Size & { databaseUrl: string; pool: pg.Pool },
): Promise<MembershipVerdict> {
  const draw = createRandom(seed);
  const publisherId = await createPublisher(pool, { key, campaigns: 1 });
  const ports = [await freePort(), await freePort()];
  const start = (at: number): Promise<ServerProcess> =>
    startServerProcess({ databaseUrl, port: ports[at] as number, env: { LOG_LEVEL: 'fatal' } });
  const servers = await Promise.all([start(0), start(1)]);
  try {
    const call = createCalls(ports, key);
    await call(0, '/manage/v1/audiences', { key: 'list', name: 'List' });
    const groups = Array.from(
      { length: parallel },
      (_, group): Group => ({
        ids: Array.from({ length: usersOf }, (_, user) => `user-${group}-${user}`),
        isMember: false,
      }),
    );
    const counts = { changes: 0, repeated: 0, unanswered: 0 };
    for (let round = 0; round < kills; round += 1) {
      const [victim, other] = [round % 2, (round + 1) % 2];
      const killAt = Math.floor(draw() * parallel);
      let answers = 0;
      let killed: Promise<void> | null = null;
      await Promise.all(
        groups.map(async (group, index) => {
          const joins = draw() < 0.5;
          let isDone = await change(call, index % 2, group, joins);
          answers += 1;
          if (answers >= killAt) killed ??= servers[victim]?.kill() ?? null;
          if (!isDone && index % 4 < 2) {
            counts.repeated += 1;
            await killed;
            isDone = await change(call, other, group, joins);
          }
          if (isDone) counts.changes += 1;
          else counts.unanswered += 1;
          group.isMember = isDone ? joins : null;
        }),
      );
      await killed;
      servers[victim] = await start(victim);
    }
    const result = await judge(pool, publisherId, groups);
    const ok = result.wrong + result.half + result.size === 0 && counts.changes > 0;
    return { ok, kills, parallel, ...counts, ...result };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** @returns whether the change was answered with 200 */
const change = async (call: CallAt, at: number, { ids }: Group, joins: boolean): Promise<boolean> =>
  (await call(at, `${path}/members`, { ids }, joins ? 'PUT' : 'DELETE')) !== null;

/** Compares the stored members with the responses. */
async function judge(
  pool: pg.Pool,
  publisherId: number,
  groups: readonly Group[],
): Promise<Pick<MembershipVerdict, 'wrong' | 'half' | 'size'>> {
  // Statements that a killed process had started end by themselves.
  await pool.query("select pg_sleep(0.1) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()");
  const { rows } = await pool.query<{ user_key: string; size: number }>(
    `select m.user_key, s.members::int as size from audiences a join audience_sizes s on s.audience_id = a.id
    left join audience_members m on m.audience_id = a.id where a.publisher_id = $1`,
    [publisherId],
  );
  const stored = new Set(rows.map(({ user_key: userKey }) => userKey).filter((userKey) => userKey !== null));
  const userKeys = createUserKeys(processSecrets.USER_PEPPER);
  const members = groups.map(({ ids }) => ids.filter((id) => stored.has(userKeys.of(publisherId, id))).length);
  const isHalf = (count: number): boolean => count > 0 && count < usersOf;
  const wrong = groups.filter(
    ({ isMember }, at) => isMember !== null && members[at] !== (isMember ? usersOf : 0) && !isHalf(members[at] ?? 0),
  );
  return {
    wrong: wrong.length,
    half: members.filter(isHalf).length,
    size: Math.abs((rows[0]?.size ?? 0) - stored.size),
  };
}
