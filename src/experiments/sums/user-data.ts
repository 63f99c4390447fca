import { type Executor, readSlices } from '../../platform/db/pool.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows } from '../../platform/user-data.ts';

/** Deletes the totals and outcomes of users, and records the number of deleted users per experiment. */
const eraseUnits = (executor: Executor, keys: readonly string[]): Promise<unknown> =>
  executor.query(
    `with units as (
      delete from experiment_units where unit_key = any($1::uuid[]) returning experiment_id, unit_key
    ), sums as (
      delete from experiment_outcomes where unit_key = any($1::uuid[])
    ), own as (
      delete from own_outcomes where user_key = any($1::uuid[])
    )
    update experiments e set erased_users = e.erased_users + lost.users
    from (select experiment_id, count(distinct unit_key) as users from units group by 1) lost
    where e.id = lost.experiment_id`,
    [keys],
  );

export const eraseSumsOfUser: EraseOfUser = async (pool, { subject }) => {
  await eraseUnits(pool, subject.userKeys);
};

/** Erases the experiment totals of the sessions' users, and of sessions without a user. */
export const eraseSumsOfSessions: EraseWithSessions = async (executor, sessions) => {
  await eraseUnits(
    executor,
    sessions.flatMap(({ id, userKey, pubUserKeys }) => [id, ...(userKey === null ? [] : [userKey]), ...pubUserKeys]),
  );
  return {};
};

/** Exports a user's experiment totals, and the outcomes that the publisher reported for the user. */
export const exportSums: ExportRows = (executor, { userKeys, pubUserKeys, sessionIds }) =>
  readSlices(
    executor,
    `select e.key as experiment, u.version, u.arm, u.first_at, u.sessions, u.would_see, u.perks, u.clicks,
      u.conversions, u.revenue_micros
    from experiment_units u join experiments e on e.id = u.experiment_id
    where u.unit_key = any($1::uuid[]) order by 1, 2`,
    [[...userKeys, ...pubUserKeys, ...sessionIds]],
  );

export const exportOutcomes: ExportRows = (executor, { userKeys, pubUserKeys }) =>
  readSlices(
    executor,
    `select id, name, value_micros, currency, at from own_outcomes
    where user_key = any($1::uuid[]) order by at`,
    [[...userKeys, ...pubUserKeys]],
  );
