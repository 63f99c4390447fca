import type { Offer } from '../../catalog/types.ts';
import {
  type BinaryArray,
  booleans,
  dates,
  integers,
  texts,
  timestamps,
  uuids,
} from '../../platform/db/binary-array.ts';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { writeDecisionRecord } from '../decision-log/decision-record.ts';
import type { SessionRecord } from '../session-record.ts';

/** A column of `sessions`: one typed array of a batch. */
type Column = { name: string; type: string; array: (sessions: readonly SessionRecord[]) => Buffer };

const column = <Value>(
  name: string,
  type: string,
  arrayOf: BinaryArray<Value>,
  pick: (session: SessionRecord) => Value | null,
): Column => ({ name, type, array: (sessions) => arrayOf(sessions, pick) });

const columns: readonly Column[] = [
  column('day', 'date', dates, ({ id }) => timeOfUuid7(id)),
  column('id', 'uuid', uuids, ({ id }) => id),
  column('publisher_id', 'integer', integers, ({ publisherId }) => publisherId),
  column('placement', 'text', texts, ({ placement }) => placement),
  column('theme_id', 'integer', integers, ({ themeId }) => themeId),
  column('user_key', 'uuid', uuids, ({ userKey }) => userKey),
  column('pub_user_id', 'text', texts, ({ pubUserId }) => pubUserId),
  column('country', 'text', texts, ({ client }) => client.country),
  column('device', 'text', texts, ({ client }) => client.device),
  column('os', 'text', texts, ({ client }) => client.os),
  column('empty_reason', 'text', texts, ({ emptyReason }) => emptyReason),
  column('decision', 'text', texts, ({ decision }) => writeDecisionRecord(decision)),
  column('dev', 'boolean', booleans, ({ dev }) => dev),
  column('usp', 'boolean', booleans, ({ usp }) => usp),
  column('usp_check_all', 'boolean', booleans, ({ uspCheckAll }) => uspCheckAll),
  column('created_at', 'timestamptz', timestamps, ({ createdAtMs }) => createdAtMs),
];

const jsonColumns: readonly Column[] = [
  column('custom', 'text', texts, ({ custom }) =>
    custom.size === 0 ? null : JSON.stringify(Object.fromEntries(custom)),
  ),
  column('macros', 'text', texts, ({ macros }) => (Object.keys(macros).length === 0 ? null : JSON.stringify(macros))),
];

/** The offers of a whole batch are one array; a session has its elements from `first_offer` to `last_offer`. */
const rangeColumns = ['first_offer', 'last_offer'];
const offerColumns = ['offer_ids', 'campaign_ids'];

const given = [...columns, ...jsonColumns];
const names = (of: readonly Column[]): string => of.map(({ name }) => name).join(', ');
const arrayParameters = [...given.map(({ type }) => type), ...rangeColumns.map(() => 'integer')]
  .map((type, index) => `$${index + 1}::${type}[]`)
  .join(', ');
const firstOfferParameter = given.length + rangeColumns.length + 1;
const offerRanges = offerColumns
  .map((_name, index) => `($${firstOfferParameter + index}::integer[])[first_offer:last_offer]`)
  .join(', ');

export const sessionColumns = `${names(columns)}, ${names(jsonColumns)}, ${offerColumns.join(', ')}`;

/** The rows that `sessionValues` gives, as a query with their columns; they are called `given`. */
export const givenSessionsSql = `
select ${names(columns)}, ${jsonColumns.map(({ name }) => `${name}::jsonb`).join(', ')}, ${offerRanges}
from unnest(${arrayParameters}) as given (${names(given)}, ${rangeColumns.join(', ')})`;

export const sessionValuesCount = firstOfferParameter + offerColumns.length - 1;

export function sessionValues(sessions: readonly SessionRecord[]): Buffer[] {
  const offers: Offer[] = [];
  const ranges = sessions.map((session) => {
    const first = offers.length + 1;
    offers.push(...session.offers);
    return { first, last: offers.length };
  });
  return [
    ...given.map(({ array }) => array(sessions)),
    integers(ranges, ({ first }) => first),
    integers(ranges, ({ last }) => last),
    integers(offers, ({ id }) => id),
    integers(offers, ({ campaign }) => campaign.id),
  ];
}
