/** Version of the columns below. It is increased when a column changes its meaning or type, or is removed. */
export const schemaVersion = 1;

/**
 * Type of a column. `id` is a UUID; `micros` is an amount in millionths of the currency unit; `time` is a UTC time in
 * microseconds. In tables with `elements`, `element` is an element of an array of integers, and `ordinal` its position.
 */
export type ColumnType = 'id' | 'text' | 'int' | 'micros' | 'bool' | 'time' | 'element' | 'ordinal';

/** Column: its type, and an SQL expression over the table's source. A type with `?` allows null. */
type ColumnEntry = readonly [type: ColumnType | `${ColumnType}?`, sql: string];

export type DataTable = {
  name: string;
  columns: Readonly<Record<string, ColumnEntry>>;
  /** From clause. `t` is the row, with its partition in `day` and `publisher_id`. */
  from: string;
  /** SQL expression for the transaction that wrote the row. Null for rows from before the column existed. */
  writtenBy: string;
  /** SQL condition that all rows must meet. */
  where?: string;
  /**
   * SQL expression for the number of elements, if a row of the source becomes a row for each element of an array. The
   * arrays are expanded after PostgreSQL has sent them, which takes less time.
   */
  elements?: string;
  /** SQL condition for test traffic, which is deleted from the database after a day. */
  isTest?: string;
  /** Whether the database may lack exported rows, because an erasure deleted them or a later version replaced them. */
  shrinks?: true;
};

const money = { revenue_micros: ['micros?', 't.revenue_micros'], currency: ['text?', 't.currency'] } as const;
const ofOffer = {
  session_id: ['id', 't.session_id'],
  offer_id: ['int', 't.offer_id'],
  campaign_id: ['int', 't.campaign_id'],
} as const;

/** SQL for the publishers whose sessions are exported with plain user IDs. */
const plainPublishers = `array(
  select publisher_id from data_file_plain_publishers join publishers p on p.id = publisher_id
  where p.data_file_user_ids = 'plain')`;

const sessionOf = '(select s.dev from sessions s where s.day = t.day and s.id = t.session_id)';

/** Tables of the data files, in the order in which they are exported (docs/guides/data-files.md#tables). */
export const dataTables: readonly DataTable[] = [
  {
    name: 'sessions',
    columns: {
      session_id: ['id', 't.id'],
      placement: ['text', 't.placement'],
      theme_id: ['int?', 't.theme_id'],
      user_key: ['id?', 't.user_key'],
      user_id: ['text?', `case when t.publisher_id = any(${plainPublishers}) then t.pub_user_id end`],
      country: ['text?', 't.country'],
      device: ['text?', 't.device'],
      os: ['text?', 't.os'],
      language: ['text?', 't.language'],
      offers: ['int', 'cardinality(t.offer_ids)'],
      empty_reason: ['text?', 't.empty_reason'],
      attributes: ['text?', 't.custom::text'],
      dev: ['bool', 't.dev'],
      created_at: ['time', 't.created_at'],
    },
    from: 'from sessions t',
    writtenBy: 't.written_by',
    isTest: 't.dev',
  },
  {
    name: 'shown_offers',
    columns: {
      session_id: ['id', 't.id'],
      offer_id: ['element', 't.offer_ids'],
      campaign_id: ['element', 't.campaign_ids'],
      position: ['ordinal', '0'],
      dev: ['bool', 't.dev'],
      created_at: ['time', 't.created_at'],
    },
    from: 'from sessions t',
    where: "t.offer_ids <> '{}'",
    elements: 'cardinality(t.offer_ids)',
    writtenBy: 't.written_by',
    isTest: 't.dev',
  },
  {
    name: 'events',
    columns: {
      ...ofOffer,
      kind: ['text', 't.kind'],
      position: ['int', 't.position'],
      at: ['time', 't.at'],
      suspicious: ['text?', 't.suspicious'],
      ...money,
      unbilled_micros: ['micros?', 't.unbilled_micros'],
    },
    from: 'from events t',
    writtenBy: 't.written_by',
  },
  {
    name: 'conversions',
    columns: {
      conversion_id: ['id', 't.id'],
      ...ofOffer,
      advertiser_id: ['int', 't.advertiser_id'],
      event: ['text', 't.event'],
      void: ['bool', 't.void'],
      reported_micros: ['micros?', 't.given_micros'],
      reported_currency: ['text?', 'coalesce(t.given_currency, t.currency)'],
      payout_micros: ['micros', 't.payout_micros'],
      unbilled_micros: ['micros', 't.unbilled_micros'],
      unbilled_reason: ['text?', 't.unbilled_reason'],
      currency: ['text', 't.currency'],
      loyalty_micros: ['text', 't.loyalty_micros::text'],
      suspicious: ['text?', 't.suspicious'],
      clicked_at: ['time', 't.click_at'],
      booked_at: ['time', 't.booked_at'],
    },
    from: 'from conversions t',
    writtenBy: 't.written_by',
  },
  {
    name: 'bookings',
    columns: {
      conversion_id: ['id', 't.id'],
      ...ofOffer,
      conversions: ['int', 't.conversions'],
      revenue_micros: ['micros', 't.revenue_micros'],
      unbilled_micros: ['micros', 't.unbilled_micros'],
      currency: ['text?', 't.currency'],
      at: ['time', 't.at'],
    },
    from: 'from bookings t',
    writtenBy: 't.written_by',
  },
  {
    name: 'wraps',
    columns: {
      session_id: ['id', 't.session_id'],
      campaign_ids: ['text', 'to_json(t.selected)::text'],
      dev: ['bool', `coalesce(${sessionOf}, false)`],
      wrapped_at: ['time', 't.wrapped_at'],
    },
    from: 'from usp_sessions t',
    where: 't.wrapped_at is not null',
    writtenBy: 't.wrapped_by',
    isTest: `coalesce(${sessionOf}, false)`,
  },
  {
    name: 'deliveries',
    columns: {
      delivery_id: ['id', 't.id'],
      endpoint_id: ['int', 't.endpoint_id'],
      event: ['text', 't.event'],
      session_id: ['id?', 't.session_id'],
      dev: ['bool', 't.dev'],
      created_at: ['time', 't.created_at'],
    },
    from: 'from deliveries t',
    writtenBy: 't.written_by',
  },
  {
    name: 'delivery_attempts',
    columns: {
      delivery_id: ['id', 't.delivery_id'],
      generation: ['int', 't.generation'],
      endpoint_id: ['int', 't.endpoint_id'],
      started_at: ['time', 't.started_at'],
      finished_at: ['time?', 't.finished_at'],
      outcome: ['text?', 't.outcome'],
      status_code: ['int?', 't.status_code'],
      error_class: ['text?', 't.error_class'],
      total_ms: ['int?', 't.total_ms'],
    },
    from: 'from delivery_attempts t',
    writtenBy: 't.written_by',
  },
  {
    name: 'messages',
    columns: {
      message_id: ['id', 't.id'],
      session_id: ['id', 't.session_id'],
      user_key: ['id', 't.user_key'],
      kind: ['text', 't.kind'],
      offer_id: ['int?', 't.offer_id'],
      state: ['text', 't.state'],
      attempts: ['int', 't.attempts'],
      created_at: ['time', 't.created_at'],
      finished_at: ['time?', 't.finished_at'],
      version: ['micros', "coalesce(t.changed_by, '0')::text::bigint"],
    },
    from: "from (select *, (created_at at time zone 'UTC')::date as day from perk_messages) t",
    writtenBy: 't.changed_by',
    shrinks: true,
  },
  {
    name: 'erasures',
    columns: {
      session_id: ['id?', 't.session_id'],
      user_key: ['id?', 't.user_key'],
      user_id: ['text?', 't.user_id'],
      erased_at: ['time', 't.erased_at'],
    },
    from: 'from data_file_erasures t',
    writtenBy: 't.written_by',
    shrinks: true,
  },
];

/** Transactions whose rows a run exports, as decimal numbers. */
export type Transactions = {
  from: string;
  until: string;
  /** Transactions before `from` that were open when the previous run was planned. */
  late: readonly string[];
  /** Transactions before `until` that were open when this run was planned. They belong to a later run. */
  open: readonly string[];
};

const numbers = (xids: readonly string[]): string => xids.map((xid) => `xid8send('${digits(xid)}'::xid8)`).join(', ');

function digits(xid: string): string {
  if (!/^\d{1,20}$/.test(xid)) throw new Error('a transaction number has a wrong format');
  return xid;
}

/** SQL condition for the rows of a run. It compares transaction IDs as bytes, as their indexes do. */
function isInRun({ writtenBy, where }: DataTable, { from, until, late, open }: Transactions): string {
  const bytes = `xid8send(${writtenBy})`;
  const inRange = `${bytes} >= xid8send('${digits(from)}'::xid8) and ${bytes} < xid8send('${digits(until)}'::xid8)`;
  const isFirst = from === '0';
  const included = [
    isFirst ? `(${writtenBy} is null or ${bytes} < xid8send('${digits(until)}'::xid8))` : `(${inRange})`,
    ...(late.length > 0 ? [`${bytes} = any(array[${numbers(late)}])`] : []),
  ].join(' or ');
  const excluded = open.length > 0 ? ` and (${writtenBy} is null or ${bytes} <> all(array[${numbers(open)}]))` : '';
  return `(${included})${excluded}${where === undefined ? '' : ` and ${where}`}`;
}

/** SQL condition for the rows that all runs up to a run have exported. */
export const isExported = (table: DataTable, { until, open }: Transactions): string =>
  isInRun(table, { from: '0', until, late: [], open });

export const typeOf = ([type]: ColumnEntry): { type: ColumnType; isOptional: boolean } => ({
  type: type.replace('?', '') as ColumnType,
  isOptional: type.endsWith('?'),
});

const casts: Partial<Record<ColumnType, string>> = { int: '::int4', micros: '::int8' };

/**
 * SQL that copies the rows of a run in binary format: publisher, day, whether the row is test traffic, the number of
 * elements in tables that have any, and columns.
 */
export function copySql(table: DataTable, transactions: Transactions): string {
  const columns = Object.values(table.columns).map((entry) => `(${entry[1]})${casts[typeOf(entry).type] ?? ''}`);
  const elements = table.elements === undefined ? [] : [table.elements];
  return `copy (
    select ${['t.publisher_id', 't.day', table.isTest ?? 'false', ...elements, ...columns].join(', ')}
    ${table.from} where ${isInRun(table, transactions)}
  ) to stdout (format binary)`;
}
