import type pg from 'pg';
import type { Offer } from '../../catalog/snapshot/types.ts';
import type { DecidedOffer, OptOuts } from '../../decision/types.ts';
import { plainArray, quotedField } from '../../platform/db/array-literal.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import { changeSessions } from '../../reports/rollup/recount.ts';
import type { ClientContext } from '../context/client-context.ts';
import { isEmpty } from '../decision-log/stored-inputs.ts';
import type { MacroValues } from '../render/macros.ts';

/** One answered fetch, as it is kept. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  userKey: string | null;
  pubUserId: string | null;
  client: ClientContext;
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

/** The fields of `new_session`, in the order of `sessionRow`. */
const names = `day, id, publisher_id, placement, theme_id, user_key, pub_user_id, country, region, city, device, os, browser,
  offer_ids, campaign_ids, decision, empty_reason, decision_inputs, custom, macros, dev, usp, usp_check_all, created_at`;

/** A session as one element of an array of `new_session`, in the order of `names`: nothing stands for null. */
export function sessionRow(session: SessionRecord): string {
  const { id, publisherId, themeId, userKey, offers, custom, macros, dev, usp, uspCheckAll } = session;
  const { country, region, city, device, os, browser } = session.client;
  const who = `${publisherId},${quotedField(session.placement)},${themeId ?? ''},${userKey ?? ''},${quotedField(session.pubUserId)}`;
  const where = `${country ?? ''},${quotedField(region)},${quotedField(city)},${device},${os},${browser}`;
  const shown = `${numbers(offers, offerId)},${numbers(offers, campaignId)},\\"${decisionJson(session)}\\",${session.emptyReason ?? ''}`;
  const told = `${custom.size === 0 ? '' : customField(custom)},${isEmpty(macros) ? '' : quotedField(JSON.stringify(macros))}`;
  const how = `${dev},${usp},${uspCheckAll},${isoTime(session.createdAtMs)}`;
  return `"(${dayOfUuid7(id)},${id},${who},${where},${shown},${quotedField(session.inputs)},${told},${how})"`;
}

const offerId = ({ id }: Offer): number => id;
const campaignId = ({ campaign }: Offer): number => campaign.id;

function numbers(offers: readonly Offer[], of: (offer: Offer) => number): string {
  let text = '';
  for (const offer of offers) text += text === '' ? of(offer) : `,${of(offer)}`;
  return `\\"{${text}}\\"`;
}

/** Text that is the same in JSON. */
const plainText = /^[^"\\\p{Cc}\p{Cs}]*$/u;

/**
 * The JSON of the publisher's own keys as `quotedField` would quote it, written in one go: their names need no quoting.
 */
function customField(custom: ReadonlyMap<string, string>): string {
  let text = '';
  for (const [name, value] of custom) {
    const quotedValue = plainText.test(value)
      ? `\\"\\"${value}\\"\\"`
      : quotedField(JSON.stringify(value)).slice(2, -2);
    text += `${text === '' ? '' : ','}\\"\\"${name}\\"\\":${quotedValue}`;
  }
  return `\\"{${text}}\\"`;
}

let lastTime = { ms: 0, text: '' };

/** Sessions of one batch mostly share their time. */
function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() };
  return lastTime.text;
}

/**
 * What replays read, as far as the id (the seed) and the columns do not say it. As JSON it holds nothing that needs
 * quoting.
 */
export type DecisionParts = readonly [version: number, scores: readonly number[]];

function decisionJson({ snapshotVersion, decided }: SessionRecord): string {
  return `[${snapshotVersion},[${decided.map(({ score }) => score).join()}]]`;
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

/**
 * Sessions that showed nothing after all, because their deadline had passed. Reports say so, too, also where they were
 * counted already.
 */
export const emptySessions = (pool: pg.Pool, ids: readonly string[]): Promise<void> =>
  transaction(pool, (executor) => {
    const days = ids.map(dayOfUuid7);
    return changeSessions(executor, [...new Set(days)], ids, () =>
      executor.query({
        name: 'empty_sessions',
        text: `update sessions set offer_ids = '{}', campaign_ids = '{}', empty_reason = 'deadline'
      from unnest($1::date[], $2::uuid[]) as late (on_day, session_id) where day = on_day and id = session_id`,
        values: [plainArray(days), plainArray(ids)],
      }),
    );
  });
