import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { saveOriginal } from '../../catalog/images/store.ts';
import { sanitiseTerms } from '../../catalog/snapshot/sanitise.ts';
import { permissions } from '../../catalog/snapshot/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { hashKey } from '../../platform/http/auth.ts';
import type { DemoCampaign, DemoCatalogue, DemoCreative, DemoOffer } from './types.ts';

const demoFolder = new URL('../../../demo/', import.meta.url);

/** The fixed key and SDK id of the embedded demo; neither exists anywhere else. */
export const embeddedDemoIds = { key: 'demo-key', sdkId: '0123456789abcdef' };

export const randomDemoIds = (): DemoIds => ({
  key: `pk_${randomBytes(24).toString('base64url')}`,
  sdkId: randomBytes(8).toString('hex'),
});

export type DemoIds = { key: string; sdkId: string };

/**
 * Writes the demo catalogue as a new publisher. Must run in one transaction.
 * @returns the id of the publisher
 */
export async function loadDemoCatalogue(executor: Executor, ids: DemoIds): Promise<number> {
  const catalogue = JSON.parse(await readFile(new URL('catalogue.json', demoFolder), 'utf8')) as DemoCatalogue;
  const publisherId = await insertPublisher(executor, catalogue.publisher, ids);
  const themes = await insertThemes(executor, publisherId, catalogue.themes);
  for (const { name, display_name, theme } of catalogue.placements) {
    await executor.query(
      'insert into placements (publisher_id, name, display_name, theme_id) values ($1, $2, $3, $4)',
      [publisherId, name, display_name, themes.get(theme ?? '') ?? null],
    );
  }
  const advertisers = new Map<string, number>();
  for (const { key, name } of catalogue.advertisers) {
    advertisers.set(
      key,
      await insert(executor, 'insert into advertisers (publisher_id, name) values ($1, $2) returning id', [
        publisherId,
        name,
      ]),
    );
  }
  for (const campaign of catalogue.campaigns)
    await insertCampaign(executor, publisherId, advertisers.get(campaign.advertiser) as number, campaign);
  return publisherId;
}

async function insert(executor: Executor, sql: string, values: unknown[]): Promise<number> {
  const { rows } = await executor.query<{ id: number }>(sql, values);
  return (rows[0] as { id: number }).id;
}

async function insertPublisher(
  executor: Executor,
  publisher: DemoCatalogue['publisher'],
  ids: DemoIds,
): Promise<number> {
  const publisherId = await insert(
    executor,
    `insert into publishers (name, sdk_id, offers_per_response, time_zone, currency_name, currency_multiplier,
      usp_enabled, wallet_enabled, offerwall_enabled, privacy_url)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id`,
    [
      publisher.name,
      ids.sdkId,
      publisher.offers_per_response,
      publisher.time_zone,
      publisher.currency_name,
      publisher.currency_multiplier,
      publisher.usp_enabled,
      publisher.wallet_enabled,
      publisher.offerwall_enabled,
      publisher.privacy_url,
    ],
  );
  await executor.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'Demo key', decode($2, 'hex'), $3)`,
    [publisherId, hashKey(ids.key), permissions.filter((permission) => permission !== 'accounts')],
  );
  return publisherId;
}

async function insertThemes(
  executor: Executor,
  publisherId: number,
  themes: DemoCatalogue['themes'],
): Promise<Map<string, number>> {
  const ids = new Map<string, number>();
  for (const theme of themes) {
    const id = await insert(
      executor,
      `insert into themes (publisher_id, name, unit, is_default, usp_enabled, usp_check_all, settings, styles)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
      [
        publisherId,
        theme.name,
        theme.unit,
        theme.is_default,
        theme.usp_enabled,
        theme.usp_check_all,
        theme.settings,
        theme.styles,
      ],
    );
    ids.set(theme.key, id);
  }
  return ids;
}

async function insertCampaign(
  executor: Executor,
  publisherId: number,
  advertiserId: number,
  campaign: DemoCampaign,
): Promise<void> {
  const campaignId = await insert(
    executor,
    `insert into campaigns (publisher_id, advertiser_id, name, category, tags, priority, weight, is_product, is_loyalty,
      offer_description, landing_url, click_id_param)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
    [
      publisherId,
      advertiserId,
      campaign.name,
      campaign.category,
      campaign.tags,
      campaign.priority,
      campaign.weight,
      campaign.is_product,
      campaign.is_loyalty,
      campaign.offer_description,
      campaign.landing_url,
      campaign.click_id_param,
    ],
  );
  for (const offer of campaign.offers) {
    const offerId = await insertOffer(executor, publisherId, campaignId, offer);
    for (const creative of offer.creatives) await insertCreative(executor, offerId, creative);
  }
}

function insertOffer(executor: Executor, publisherId: number, campaignId: number, offer: DemoOffer): Promise<number> {
  return insert(
    executor,
    `insert into offers (publisher_id, campaign_id, title, description, mini_text, terms_and_conditions, cta_yes, cta_no,
       short_description, short_headline, loyalty_requirements, useraction_cta, useraction_url, adv_pixel_url, wallet_enabled, offerwall_enabled)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) returning id`,
    [
      publisherId,
      campaignId,
      offer.title,
      offer.description,
      offer.mini_text,
      sanitiseTerms(offer.terms_and_conditions),
      offer.cta_yes,
      offer.cta_no,
      offer.short_description,
      offer.short_headline,
      offer.loyalty_requirements,
      offer.useraction_cta,
      offer.useraction_url,
      offer.adv_pixel_url,
      offer.wallet_enabled,
      offer.offerwall_enabled,
    ],
  );
}

async function insertCreative(executor: Executor, offerId: number, creative: DemoCreative): Promise<void> {
  const bytes = await readFile(new URL(creative.file, demoFolder));
  const { width, height, format } = await sharp(bytes).metadata();
  const id = await insert(
    executor,
    `insert into creatives (offer_id, creative_type, is_primary, type, width, height)
    values ($1, $2, $3, $4, $5, $6) returning id`,
    [offerId, creative.creative_type, creative.is_primary, format === 'jpeg' ? 'jpg' : format, width, height],
  );
  await saveOriginal(executor, null, id, bytes);
}
