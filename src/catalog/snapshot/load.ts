import { type Executor, readSlices } from '../../platform/db/pool.ts';
import { hasEnded, nextEndMs, rulesInForce, wholeControls } from '../controls.ts';
import type { CampaignRow, CatalogRows, CreativeRow, OfferRow, ProvisionRow, PublisherRow } from './rows.ts';

/** Consistent set of rows, and the database source from which they were read. */
export type Stored = { rows: CatalogRows; source: string; ends: RuleEnds };

/**
 * Number of block rules that have ended and are therefore not in the rows, by publisher, and the time when the next
 * rule ends, in epoch milliseconds.
 */
type RuleEnds = { ended: ReadonlyMap<number, number>; nextMs: number };

/** Campaigns, and publishers with other settings, that may differ from earlier rows. */
export type Changes = { campaigns: ReadonlySet<number>; publishers: ReadonlySet<number> };

/** Loaded rows, and what may differ from the base rows. Null means that everything may differ. */
export type Loaded = Stored & { changed: Changes | null };

/**
 * Reads the configuration version, which increases with every change.
 * @returns the version and its `source`, which changes whenever a database server is started or restored; a promoted or
 * restored server may have lost versions and reused their numbers for other changes
 */
export async function loadVersion(executor: Executor): Promise<{ version: number; source: string }> {
  const { rows } = await executor.query<{ version: string; source: string }>({
    name: 'catalog_version',
    text: `select version, concat(extract(epoch from pg_postmaster_start_time()), ' ', tableoid) as source
      from catalog_version`,
  });
  const [row] = rows;
  if (row === undefined) throw new Error('the table catalog_version is empty');
  return { version: Number(row.version), source: row.source };
}

/**
 * SQL condition for rows that valid tokens may refer to: rows that have not been removed, or were removed only
 * recently. A click token is valid for 30 days.
 */
const isReferable = (table: string): string =>
  `(${table}.deleted_at is null or ${table}.deleted_at > now() - interval '31 days')`;

/**
 * Builds the column list for loading a large table. Only columns that are used are loaded, because the rows stay in
 * memory. The type ensures that none is forgotten. In a brief list, the columns marked `text` are empty.
 */
const columns =
  <Row>(names: Record<keyof Row, true | 'text'>) =>
  (table: string, isBrief = false): string =>
    Object.entries(names)
      .map(([name, kind]) => (isBrief && kind === 'text' ? `'' as ${name}` : `${table}.${name}`))
      .join(', ');

const campaignColumns = columns<
  Omit<CampaignRow, 'advertiser_name' | 'advertiser_events' | 'stopped' | 'advertiser_stopped'>
>({
  id: true,
  publisher_id: true,
  advertiser_id: true,
  name: true,
  category: true,
  tags: true,
  active: true,
  priority: true,
  weight: true,
  ranking: true,
  is_product: true,
  is_loyalty: true,
  offer_description: 'text',
  landing_url: 'text',
  click_id_param: true,
  opt_out_days: true,
  overspend_percent: true,
  goal: true,
  goal_since: true,
  activated_at: true,
  rules: true,
  payout_kind: true,
  payout_amount: true,
  payout_currency: true,
  deleted_at: true,
});
const offerColumns = columns<Omit<OfferRow, 'stopped' | 'coupon'>>({
  id: true,
  publisher_id: true,
  campaign_id: true,
  active: true,
  weight: true,
  title: true,
  description: 'text',
  mini_text: 'text',
  short_headline: 'text',
  short_description: 'text',
  terms_and_conditions: 'text',
  cta_yes: 'text',
  cta_no: 'text',
  loyalty_requirements: 'text',
  useraction_cta: 'text',
  useraction_url: 'text',
  adv_pixel_url: 'text',
  wallet_enabled: true,
  offerwall_enabled: true,
  language: true,
  translations: true,
  deleted_at: true,
});
const couponOf = (pool: string): string => `case when ${pool}.offer_id is not null then jsonb_build_object(
          'give_at', ${pool}.give_at, 'shared_code', ${pool}.shared_code, 'terms', ${pool}.terms,
          'expires_at', ${pool}.expires_at, 'valid_days', ${pool}.valid_days, 'hold_minutes', ${pool}.hold_minutes,
          'drained', ${pool}.drained_at is not null) end`;

/**
 * Number of past days for which exchange rates are loaded. Past rates are needed because it may still be yesterday in
 * some time zones, and because past decisions are repeated.
 */
const rateDays = 10;

const creativeColumns = columns<CreativeRow>({
  id: true,
  offer_id: true,
  creative_type: true,
  is_primary: true,
  type: true,
  width: true,
  height: true,
  url: true,
  language: true,
  user_id: true,
});

/** Rows of campaigns and of everything that belongs to them. */
export type CampaignRows = {
  campaigns: CampaignRow[];
  provisions: ProvisionRow[];
  offers: OfferRow[];
  creatives: CreativeRow[];
};

/**
 * Reads campaigns with their provisions, offers and creatives.
 * @param ids campaigns to read, or null for all
 * @param isBrief whether to leave out images and all copy except titles
 */
export async function loadCampaigns(
  executor: Executor,
  ids: readonly number[] | null,
  { isBrief = false }: { isBrief?: boolean } = {},
): Promise<CampaignRows> {
  const some = <Row extends object>(text: string): Promise<Row[]> => readAll<Row>(executor, text, ids);
  return {
    campaigns: await some(
      `select ${campaignColumns('c', isBrief)}, a.name as advertiser_name, a.own_events as advertiser_events,
        c.stopped_at is not null as stopped, a.stopped_at is not null as advertiser_stopped
      from campaigns c join advertisers a on a.id = c.advertiser_id
      where ${isReferable('c')} and ($1::integer[] is null or c.id = any($1)) order by c.id`,
    ),
    provisions: await some(
      `select p.* from campaign_publishers p join campaigns c on c.id = p.campaign_id
      where ${isReferable('c')} and ($1::integer[] is null or c.id = any($1)) order by p.campaign_id, p.publisher_id`,
    ),
    offers: await some(
      `select ${offerColumns('o', isBrief)}, o.stopped_at is not null as stopped, ${couponOf('p')} as coupon
      from offers o left join coupon_pools p on p.offer_id = o.id
      where ${isReferable('o')} and ($1::integer[] is null or o.campaign_id = any($1)) order by o.id`,
    ),
    creatives: await readAll(
      executor,
      `select ${creativeColumns('i')} from creatives i join offers o on o.id = i.offer_id
      where i.deleted_at is null and ${isReferable('o')} and ($1::integer[] is null or o.campaign_id = any($1))
      order by i.offer_id, i.is_primary desc, i.id`,
      isBrief ? [] : ids,
    ),
  };
}

/**
 * Returns the campaigns that publishers own or may show, ordered by ID.
 * @param among campaigns to choose from, or null for all
 */
export async function findCampaignsOf(
  executor: Executor,
  publisherIds: readonly number[],
  among: readonly number[] | null = null,
): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>({
    name: 'catalog_campaigns_of',
    text: `select id from (
        select id from campaigns where publisher_id = any($1)
        union select campaign_id from campaign_publishers where publisher_id = any($1)
      ) own where $2::integer[] is null or id = any($2) order by id`,
    values: [publisherIds, among],
  });
  return rows.map(({ id }) => id);
}

/**
 * Returns the campaigns that background jobs check even if no publisher that runs them is loaded: campaigns with total
 * caps, a goal, an end date or coupon codes.
 */
export async function findCheckedCampaigns(executor: Executor): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>(
    `select id from campaigns
    where goal is not null or jsonb_path_exists(rules, '$.total_caps[*]') or rules->'schedule' ? 'end_at'
    union select campaign_id from campaign_publishers where total_caps is not null
    union select o.campaign_id from coupon_pools p join offers o on o.id = p.offer_id
    order by id`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Reads the configuration. It must run in a single repeatable-read transaction.
 * @param earlier rows to reuse for campaigns and publishers that have not changed since
 * @param publisherIds publishers whose campaigns are read, or null for all
 * @param nowMs time for which the block rules are read: rules that have ended are left out
 */
export async function loadRows(
  executor: Executor,
  earlier: Stored | null,
  publisherIds: readonly number[] | null,
  nowMs: number,
): Promise<Loaded> {
  const { version, source } = await loadVersion(executor);
  const base = earlier?.source === source ? earlier : null;
  const changed = base === null ? null : await loadChanged(executor, base, nowMs);
  const changedIds = changed === null ? null : [...changed.campaigns];
  const ids = publisherIds === null ? changedIds : await findCampaignsOf(executor, publisherIds, changedIds);
  const settings = await loadSettings(executor, changed === null ? null : [...changed.publishers]);
  const { publishers, ended } = inForceAt(settings.publishers, nowMs);
  const fresh: CatalogRows = { version, ...settings, publishers, ...(await loadCampaigns(executor, ids)) };
  if (base === null || changed === null) return { rows: fresh, source, ends: endsOf(publishers, ended), changed };
  const rows = reuseUnchanged(fresh, base.rows, changed);
  const unchanged = [...base.ends.ended].filter(([id]) => !changed.publishers.has(id));
  return { rows, source, ends: endsOf(rows.publishers, new Map([...unchanged, ...ended])), changed };
}

type SettingRows = Omit<CatalogRows, 'version' | keyof CampaignRows>;

const noSettings: SettingRows = {
  publishers: [],
  keys: [],
  themes: [],
  placements: [],
  audiences: [],
  sequenceRules: [],
  experiments: [],
  exchangeRates: [],
};

/** Reads the publishers and everything that belongs to them, except for campaigns. Null means all publishers. */
async function loadSettings(executor: Executor, ids: readonly number[] | null): Promise<SettingRows> {
  if (ids?.length === 0) return noSettings;
  const all = async <Row>(text: string): Promise<Row[]> => (await executor.query(text, [ids])).rows as Row[];
  const isOwn = (column = 'publisher_id'): string => `($1::integer[] is null or ${column} = any($1))`;
  return {
    publishers: await all(`select * from publishers where ${isOwn('id')} order by id`),
    keys: await all(
      `select id, name, publisher_id, encode(key_hash, 'hex') as key_hash, permissions, rate_limit_per_s, expires_at,
        read_only, allowed_addresses, campaigns, placements,
        array(
          select jsonb_build_object('id', m.id, 'perS', m.rate_limit_per_s) from api_keys m
          where m.id = any(k.limited_by_keys) and m.rate_limit_per_s is not null
        ) as maker_limits
      from api_keys k where revoked_at is null and ${isOwn()} order by publisher_id, id`,
    ),
    themes: await all(`select * from themes where deleted_at is null and ${isOwn()} order by publisher_id, id`),
    placements: await all(`select * from placements where ${isOwn()} order by publisher_id, name`),
    audiences: await all(`select id, publisher_id, key from audiences where ${isOwn()} order by publisher_id, id`),
    sequenceRules: await all(
      `select * from sequence_rules where active and deleted_at is null and ${isOwn()} order by publisher_id, id`,
    ),
    experiments: await all(
      `select id, publisher_id, key, version, salt, placements, campaign_id, holdout, arms, allocation, ramp,
        (extract(epoch from coalesce(started_at, start_at)) * 1000)::float8 as start_ms,
        (extract(epoch from end_at) * 1000)::float8 as end_ms
      from experiments where stopped_at is null and ${isOwn()} order by publisher_id, id`,
    ),
    exchangeRates: await all(
      `select r.publisher_id, r.currency, r.valid_from::text as valid_from, trim_scale(r.rate)::text as rate
      from (select distinct publisher_id, currency from exchange_rates where ${isOwn()}) c
      cross join lateral (
        select max(valid_from) as day from exchange_rates
        where publisher_id = c.publisher_id and currency = c.currency and valid_from <= current_date - ${rateDays}
      ) earliest
      join exchange_rates r on r.publisher_id = c.publisher_id and r.currency = c.currency
        and r.valid_from >= coalesce(earliest.day, '-infinity')
      order by r.publisher_id, r.currency, r.valid_from`,
    ),
  };
}

/** Removes the block rules that have ended from the rows of publishers. Returns their number by publisher. */
function inForceAt(
  rows: readonly PublisherRow[],
  nowMs: number,
): { publishers: PublisherRow[]; ended: Map<number, number> } {
  const ended = new Map<number, number>();
  const publishers = rows.map((row) => {
    const details = row.controls?.rule_details ?? [];
    if (row.controls == null || details.length === 0) return row;
    const count = details.filter((detail) => hasEnded(detail, nowMs)).length;
    if (count > 0) ended.set(row.id, count);
    return { ...row, controls: rulesInForce(wholeControls(row.controls), nowMs) };
  });
  return { publishers, ended };
}

/** @param publishers rows without the rules that have ended */
function endsOf(publishers: readonly PublisherRow[], ended: ReadonlyMap<number, number>): RuleEnds {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { controls } of publishers) nextMs = Math.min(nextMs, nextEndMs(controls ?? null));
  return { ended, nextMs };
}

/**
 * Returns what has changed since `base`, including campaigns whose removed rows no longer need to be loaded, and
 * publishers with block rules that have ended. Returns null if the changes are unknown because the list of changes does
 * not go back that far or was lost.
 */
async function loadChanged(executor: Executor, base: Stored, nowMs: number): Promise<Changes | null> {
  const { rows } = await executor.query<{
    listed: boolean;
    removed_before: Date;
    campaign_ids: number[];
    publisher_ids: number[];
  }>({
    name: 'load_catalog_changes',
    text: `select listed_after <= $1 and version >= $1 as listed, now() - interval '31 days' as removed_before,
      array(select distinct campaign_id from catalog_changes where version > $1) as campaign_ids,
      array(select distinct publisher_id from catalog_publisher_changes where version > $1) as publisher_ids
    from catalog_version`,
    values: [base.rows.version],
  });
  const changes = rows[0];
  if (changes === undefined || !changes.listed) return null;
  const campaigns = new Set(changes.campaign_ids);
  const publishers = new Set(changes.publisher_ids);
  const isExpired = (removedAt: Date | null): boolean => removedAt !== null && removedAt <= changes.removed_before;
  for (const { id, deleted_at } of base.rows.campaigns) if (isExpired(deleted_at)) campaigns.add(id);
  for (const { campaign_id, deleted_at } of base.rows.offers) if (isExpired(deleted_at)) campaigns.add(campaign_id);
  if (nowMs >= base.ends.nextMs)
    for (const { id, controls } of base.rows.publishers)
      if (controls?.rule_details?.some((detail) => hasEnded(detail, nowMs)) === true) publishers.add(id);
  return { campaigns, publishers };
}

/** Maximum number of campaigns whose rows are read with one statement per table, rather than in slices. */
const maxAtOnce = 500;

/** Reads the rows of some campaigns or of all campaigns. Large numbers of campaigns are read in slices. */
async function readAll<Row extends object>(
  executor: Executor,
  text: string,
  ids: readonly number[] | null,
): Promise<Row[]> {
  if (ids !== null && ids.length === 0) return [];
  if (ids !== null && ids.length <= maxAtOnce) return (await executor.query(text, [ids])).rows as Row[];
  const loadedRows: Row[] = [];
  for await (const rows of readSlices<Row>(executor, text, [ids])) for (const row of rows) loadedRows.push(row);
  return loadedRows;
}

/** Adds the rows of unchanged campaigns and publishers from `base` to the newly loaded rows. */
function reuseUnchanged(fresh: CatalogRows, base: CatalogRows, { campaigns, publishers }: Changes): CatalogRows {
  const settings = <Row extends { publisher_id: number }>(before: Row[] = [], loaded: Row[] = []): Row[] =>
    publishers.size === 0
      ? before
      : mergeBy(
          (row) => row.publisher_id,
          before.filter((row) => !publishers.has(row.publisher_id)),
          loaded,
        );
  const changedOffers = new Set(base.offers.filter((row) => campaigns.has(row.campaign_id)).map(({ id }) => id));
  return {
    version: fresh.version,
    publishers: mergeBy(
      ({ id }) => id,
      base.publishers.filter(({ id }) => !publishers.has(id)),
      fresh.publishers,
    ),
    keys: settings(base.keys, fresh.keys),
    themes: settings(base.themes, fresh.themes),
    placements: settings(base.placements, fresh.placements),
    audiences: settings(base.audiences, fresh.audiences),
    sequenceRules: settings(base.sequenceRules, fresh.sequenceRules),
    experiments: settings(base.experiments, fresh.experiments),
    exchangeRates: settings(base.exchangeRates, fresh.exchangeRates),
    campaigns: mergeBy(
      ({ id }) => id,
      base.campaigns.filter(({ id }) => !campaigns.has(id)),
      fresh.campaigns,
    ),
    provisions: mergeBy(
      (row) => row.campaign_id,
      base.provisions.filter((row) => !campaigns.has(row.campaign_id)),
      fresh.provisions,
    ),
    offers: mergeBy(
      ({ id }) => id,
      base.offers.filter(({ id }) => !changedOffers.has(id)),
      fresh.offers,
    ),
    creatives: mergeBy(
      (row) => row.offer_id,
      base.creatives.filter((row) => !changedOffers.has(row.offer_id)),
      fresh.creatives,
    ),
  };
}

/** Merges two lists that are sorted by a key. No key may occur in both lists. */
function mergeBy<Row>(keyOf: (row: Row) => number, base: readonly Row[], right: readonly Row[]): Row[] {
  const merged: Row[] = [];
  let at = 0;
  for (const row of base) {
    for (; at < right.length && keyOf(right[at] as Row) < keyOf(row); at++) merged.push(right[at] as Row);
    merged.push(row);
  }
  return merged.concat(right.slice(at));
}
