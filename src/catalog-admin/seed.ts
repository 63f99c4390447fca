import sharp from 'sharp';
import type { PayoutKind } from '../catalog/rules.ts';
import type { CreativeType, Unit } from '../catalog/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { sanitiseTerms } from '../platform/lib/sanitise-terms.ts';
import { saveOriginal } from './images.ts';

/** Reads the bytes of an image that a seed catalogue refers to. */
export type ReadImage = (file: string) => Promise<Buffer>;

/**
 * Creates a publisher from a seed catalogue, for demos and tests. Must run in a transaction.
 * @returns the publisher's ID
 */
export async function seedCatalogue(
  executor: Executor,
  catalogue: SeedCatalogue,
  sdkId: string,
  readImage: ReadImage,
): Promise<number> {
  const publisherId = await insert(executor, 'publishers', { ...catalogue.publisher, sdk_id: sdkId });
  const themes = new Map<string, number>();
  for (const theme of catalogue.themes)
    themes.set(theme.key, await insert(executor, 'themes', { publisher_id: publisherId, ...theme }));
  for (const { name, display_name: displayName, theme } of catalogue.placements) {
    await executor.query(
      'insert into placements (publisher_id, name, display_name, theme_id) values ($1, $2, $3, $4)',
      [publisherId, name, displayName, themes.get(theme ?? '') ?? null],
    );
  }
  const advertisers = new Map<string, number>();
  for (const { key: advertiser, name } of catalogue.advertisers)
    advertisers.set(advertiser, await insert(executor, 'advertisers', { publisher_id: publisherId, name }));
  for (const campaign of catalogue.campaigns) {
    const advertiserId = advertisers.get(campaign.advertiser) as number;
    await insertCampaign(executor, { publisherId, advertiserId, readImage }, campaign);
  }
  return publisherId;
}

/** Sets the placement for fetches that do not specify one. */
export async function setDefaultPlacement(executor: Executor, publisherId: number, placement: string): Promise<void> {
  await executor.query('update publishers set default_placement = $2 where id = $1', [publisherId, placement]);
}

/**
 * Inserts a row.
 * @returns the ID of the row
 */
async function insert(executor: Executor, table: string, row: Record<string, unknown>): Promise<number> {
  const columns = Object.keys(row);
  const { rows } = await executor.query<{ id: number }>(
    `insert into ${table} (${columns.join(', ')})
    values (${columns.map((_, index) => `$${index + 1}`).join(', ')}) returning id`,
    Object.values(row),
  );
  return (rows[0] as { id: number }).id;
}

type CampaignContext = { publisherId: number; advertiserId: number; readImage: ReadImage };

async function insertCampaign(
  executor: Executor,
  { publisherId, advertiserId, readImage }: CampaignContext,
  { key: _key, advertiser: _advertiser, offers, ...columns }: SeedCampaign,
): Promise<void> {
  const owner = { publisher_id: publisherId };
  const campaignId = await insert(executor, 'campaigns', { ...owner, advertiser_id: advertiserId, ...columns });
  for (const { key: _offer, creatives, ...copy } of offers) {
    const terms = sanitiseTerms(copy.terms_and_conditions);
    const row = { ...owner, campaign_id: campaignId, ...copy, terms_and_conditions: terms };
    const offerId = await insert(executor, 'offers', row);
    for (const creative of creatives) await insertCreative(executor, offerId, creative, await readImage(creative.file));
  }
}

async function insertCreative(
  executor: Executor,
  offerId: number,
  { file: _file, ...columns }: SeedCreative,
  bytes: Buffer,
): Promise<void> {
  const { width, height, format } = await sharp(bytes).metadata();
  const type = format === 'jpeg' ? 'jpg' : format;
  const id = await insert(executor, 'creatives', { offer_id: offerId, ...columns, type, width, height });
  await saveOriginal(executor, null, id, bytes);
}

/**
 * Removes duplicate advertisers that a program created in bursts. An advertiser is removed if it was created within 10
 * seconds of another with the same name, was never changed and has no campaigns. Removed advertisers can be restored.
 */
export async function removeAdvertiserBursts(executor: Executor, name: string, nowMs: number): Promise<void> {
  await executor.query(
    `update advertisers a set deleted_at = $2, updated_at = $2
    where name = $1 and deleted_at is null and updated_at = created_at
      and not exists (select from campaigns c where c.advertiser_id = a.id)
      and exists (
        select from advertisers o
        where o.publisher_id = a.publisher_id and o.id <> a.id and o.name = $1
          and o.created_at between a.created_at - interval '10 seconds' and a.created_at + interval '10 seconds')`,
    [name, new Date(nowMs)],
  );
}

/** Image in a seed catalogue. `file` is its path. */
type SeedCreative = { file: string; creative_type: CreativeType; is_primary: boolean };

type SeedOffer = {
  key: string;
  title: string;
  description: string;
  mini_text: string;
  terms_and_conditions: string;
  cta_yes: string;
  cta_no: string;
  short_description: string;
  short_headline: string;
  loyalty_requirements: string;
  useraction_cta: string | null;
  useraction_url: string | null;
  adv_pixel_url: string;
  wallet_enabled: boolean;
  offerwall_enabled: boolean;
  creatives: SeedCreative[];
};

type SeedCampaign = {
  key: string;
  advertiser: string;
  name: string;
  category: string;
  tags: string[];
  priority: number;
  weight: number;
  payout_kind: PayoutKind;
  /** Payout amount in the payout currency, or a percentage of the sale for `cps`. */
  payout_amount: number;
  payout_currency: string;
  is_product: boolean;
  is_loyalty: boolean;
  offer_description: string;
  landing_url: string;
  click_id_param: string;
  offers: SeedOffer[];
};

/**
 * Seed catalogue in the format of demo/catalogue.json, with database column names. `key` identifies an entry within the
 * file. A theme's `key` is also the key by which requests refer to it. Limits are enforced only by the database.
 */
export type SeedCatalogue = {
  publisher: {
    name: string;
    offers_per_response: number;
    time_zone: string;
    currency_name: string;
    currency_multiplier: number;
    usp_enabled: boolean;
    wallet_enabled: boolean;
    offerwall_enabled: boolean;
    privacy_url: string | null;
    own_events?: string[];
  };
  themes: {
    key: string;
    name: string;
    unit: Unit;
    is_default: boolean;
    usp_enabled: boolean;
    usp_check_all: boolean;
    settings: Record<string, unknown>;
    styles: Record<string, unknown>;
    appearance?: Record<string, unknown>;
  }[];
  placements: { name: string; display_name: string; theme?: string }[];
  advertisers: { key: string; name: string }[];
  campaigns: SeedCampaign[];
};
