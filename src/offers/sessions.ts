import type { Offer } from '../catalog/types.ts';
import type { Surroundings } from '../context/surroundings.ts';
import { plainArray, quoted } from '../db/array-literal.ts';
import type { Executor } from '../db/pool.ts';
import type { DecidedOffer, OptOuts } from '../decision/types.ts';
import { sessionDay } from '../session-id.ts';
import type { MacroValues } from './macros.ts';

/** One answered fetch, as it is kept. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  userKey: string | null;
  pubUserId: string | null;
  surroundings: Surroundings;
  offers: readonly Offer[];
  /** The same with what the decision says of them. */
  decided: readonly DecidedOffer[];
  /** Why nothing is shown; null when something is. */
  emptyReason: string | null;
  /** What the decision came from; see `StoredInputs`. */
  seed: number;
  snapshotVersion: number;
  inputs: string | null;
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** The opt-outs of many users in one statement. */
export async function loadOptOuts(executor: Executor, userKeys: readonly string[]): Promise<Map<string, OptOuts>> {
  if (userKeys.length === 0) return new Map();
  const { rows } = await executor.query<{ user_key: string; opt_outs: OptOuts }>({
    name: 'load_opt_outs',
    text: 'select user_key, opt_outs from user_history where user_key = any($1::uuid[])',
    values: [`{${userKeys.join(',')}}`],
  });
  return new Map(rows.map((row) => [row.user_key, row.opt_outs]));
}

/** What writes one value into the array literal of its column. */
type Column = { name: string; type: string; cast?: string; write: (session: SessionRecord) => string | number | boolean | null };

const numbers = (values: readonly number[]): string => `"{${values.join(',')}}"`;

const jsonOrNull = (value: object, size: number): string => (size === 0 ? 'null' : quoted(JSON.stringify(value)));

const columns: readonly Column[] = [
  { name: 'day', type: 'date', write: (s) => sessionDay(s.id) },
  { name: 'id', type: 'uuid', write: (s) => s.id },
  { name: 'publisher_id', type: 'integer', write: (s) => s.publisherId },
  { name: 'placement', type: 'text', write: (s) => quoted(s.placement) },
  { name: 'theme_id', type: 'integer', write: (s) => s.themeId },
  { name: 'user_key', type: 'uuid', write: (s) => s.userKey },
  { name: 'pub_user_id', type: 'text', write: (s) => quoted(s.pubUserId) },
  { name: 'country', type: 'text', write: (s) => s.surroundings.country },
  { name: 'region', type: 'text', write: (s) => quoted(s.surroundings.region) },
  { name: 'city', type: 'text', write: (s) => quoted(s.surroundings.city) },
  { name: 'device', type: 'text', write: (s) => s.surroundings.device },
  { name: 'os', type: 'text', write: (s) => s.surroundings.os },
  { name: 'browser', type: 'text', write: (s) => s.surroundings.browser },
  { name: 'offer_ids', type: 'text', cast: 'integer[]', write: (s) => numbers(s.offers.map((offer) => offer.id)) },
  { name: 'campaign_ids', type: 'text', cast: 'integer[]', write: (s) => numbers(s.offers.map((offer) => offer.campaign.id)) },
  { name: 'scores', type: 'text', cast: 'float8[]', write: (s) => numbers(s.decided.map(({ score }) => score)) },
  { name: 'propensities', type: 'text', cast: 'float8[]', write: (s) => numbers(s.decided.map(({ propensity }) => propensity)) },
  { name: 'empty_reason', type: 'text', write: (s) => s.emptyReason },
  { name: 'seed', type: 'bigint', write: (s) => s.seed },
  { name: 'snapshot_version', type: 'bigint', write: (s) => s.snapshotVersion },
  { name: 'decision_inputs', type: 'text', write: (s) => quoted(s.inputs) },
  { name: 'custom', type: 'text', cast: 'jsonb', write: (s) => jsonOrNull(Object.fromEntries(s.custom), s.custom.size) },
  { name: 'macros', type: 'text', cast: 'jsonb', write: (s) => jsonOrNull(s.macros, Object.keys(s.macros).length) },
  { name: 'dev', type: 'boolean', write: (s) => s.dev },
  { name: 'usp', type: 'boolean', write: (s) => s.usp },
  { name: 'usp_check_all', type: 'boolean', write: (s) => s.uspCheckAll },
  { name: 'created_at', type: 'float8', cast: 'to_timestamp', write: (s) => s.createdAtMs / 1000 },
];

const names = columns.map((column) => column.name).join(', ');

const insertSql = `
insert into sessions (${names})
select ${columns.map(({ name, cast }) => (cast === 'to_timestamp' ? `to_timestamp(${name})` : cast === undefined ? name : `${name}::${cast}`)).join(', ')}
from unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')}) as given (${names})`;

/** Writes many sessions in one statement. */
export async function insertSessions(executor: Executor, sessions: readonly SessionRecord[]): Promise<void> {
  const values = columns.map(({ write }) => `{${sessions.map((session) => String(write(session))).join(',')}}`);
  await executor.query({ name: 'insert_sessions', text: insertSql, values });
}

/** Sessions that showed nothing after all, because their deadline had passed. */
export async function emptySessions(executor: Executor, ids: readonly string[]): Promise<void> {
  await executor.query({
    name: 'empty_sessions',
    text: `update sessions set offer_ids = '{}', campaign_ids = '{}', empty_reason = 'deadline', scores = null, propensities = null
      from unnest($1::date[], $2::uuid[]) as late (on_day, session_id) where day = on_day and id = session_id`,
    values: [plainArray(ids.map(sessionDay)), plainArray(ids)],
  });
}
