import type { Offer } from '../catalog/types.ts';
import type { Surroundings } from '../context/surroundings.ts';
import { plainArray, quotedField } from '../db/array-literal.ts';
import type { Executor } from '../db/pool.ts';
import type { DecidedOffer, OptOuts } from '../decision/types.ts';
import { sessionDay } from '../session-id.ts';
import { isEmpty } from './inputs.ts';
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
  /** What the decision came from beside the id, which is its chance; see `StoredInputs`. */
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

/** The fields of `new_session`, and what writes them into a row of an array literal: nothing stands for null. */
const fields: readonly (readonly [name: string, write: (session: SessionRecord) => string | number | boolean])[] = [
  ['day', (s) => sessionDay(s.id)],
  ['id', (s) => s.id],
  ['publisher_id', (s) => s.publisherId],
  ['placement', (s) => quotedField(s.placement)],
  ['theme_id', (s) => s.themeId ?? ''],
  ['user_key', (s) => s.userKey ?? ''],
  ['pub_user_id', (s) => quotedField(s.pubUserId)],
  ['country', (s) => s.surroundings.country ?? ''],
  ['region', (s) => quotedField(s.surroundings.region)],
  ['city', (s) => quotedField(s.surroundings.city)],
  ['device', (s) => s.surroundings.device],
  ['os', (s) => s.surroundings.os],
  ['browser', (s) => s.surroundings.browser],
  ['offer_ids', (s) => numbers(s.offers, (offer) => offer.id)],
  ['campaign_ids', (s) => numbers(s.offers, (offer) => offer.campaign.id)],
  ['decision', (s) => `\\"${decisionJson(s)}\\"`],
  ['empty_reason', (s) => s.emptyReason ?? ''],
  ['decision_inputs', (s) => quotedField(s.inputs)],
  ['custom', (s) => (s.custom.size === 0 ? '' : quotedField(JSON.stringify(Object.fromEntries(s.custom))))],
  ['macros', (s) => (isEmpty(s.macros) ? '' : quotedField(JSON.stringify(s.macros)))],
  ['dev', (s) => s.dev],
  ['usp', (s) => s.usp],
  ['usp_check_all', (s) => s.uspCheckAll],
  ['created_at', (s) => new Date(s.createdAtMs).toISOString()],
];

function numbers<Value>(values: readonly Value[], of: (value: Value) => number): string {
  let text = '';
  for (const value of values) text += text === '' ? of(value) : `,${of(value)}`;
  return `\\"{${text}}\\"`;
}

/** What replays read, as far as the id (the seed) and the columns do not say it. As JSON it holds nothing that needs quoting. */
export type DecisionParts = readonly [version: number, scores: readonly number[], propensities: readonly number[]];

function decisionJson({ snapshotVersion, decided }: SessionRecord): string {
  let [scores, propensities, comma] = ['', '', ''];
  for (const { score, propensity } of decided) {
    scores += comma + score;
    propensities += comma + propensity;
    comma = ',';
  }
  return `[${snapshotVersion},[${scores}],[${propensities}]]`;
}

const names = fields.map(([name]) => name).join(', ');

/** A session as one element of an array of `new_session`. */
export function sessionRow(session: SessionRecord): string {
  let row = '"(';
  for (const [index, [, write]] of fields.entries()) row += index === 0 ? write(session) : `,${write(session)}`;
  return `${row})"`;
}

/** Writes many sessions, as `sessionRow` gives them, in one statement. */
export async function insertSessions(executor: Executor, rows: readonly string[]): Promise<void> {
  await executor.query({
    name: 'insert_sessions',
    text: `insert into sessions (${names}) select ${names} from unnest($1::new_session[])`,
    values: [`{${rows.join(',')}}`],
  });
}

/**
 * Writes the sessions of those who have opted out of nothing, in one statement.
 * @returns the opt-outs of the others, of whose sessions nothing is written
 */
export async function insertUnlessOptedOut(
  executor: Executor,
  rows: readonly string[],
  userKeys: readonly string[],
): Promise<Map<string, OptOuts>> {
  const { rows: found } = await executor.query<{ user_key: string; opt_outs: OptOuts }>({
    name: 'insert_unless_opted_out',
    text: `with opted_out as (select user_key, opt_outs from user_history where user_key = any($2::uuid[]) and opt_outs <> '{}'),
      written as (
        insert into sessions (${names}) select ${names} from unnest($1::new_session[]) as given
        where not exists (select from opted_out where opted_out.user_key = given.user_key))
      select user_key, opt_outs from opted_out`,
    values: [`{${rows.join(',')}}`, `{${userKeys.join(',')}}`],
  });
  return new Map(found.map((row) => [row.user_key, row.opt_outs]));
}

/** Sessions that showed nothing after all, because their deadline had passed. */
export async function emptySessions(executor: Executor, ids: readonly string[]): Promise<void> {
  await executor.query({
    name: 'empty_sessions',
    text: `update sessions set offer_ids = '{}', campaign_ids = '{}', empty_reason = 'deadline'
      from unnest($1::date[], $2::uuid[]) as late (on_day, session_id) where day = on_day and id = session_id`,
    values: [plainArray(ids.map(sessionDay)), plainArray(ids)],
  });
}
