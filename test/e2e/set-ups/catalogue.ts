import type { Client } from './client.ts';

/**
 * Caps of the campaigns, in impressions, budget units and impressions per user. A total cap or budget is used up to the
 * last impression.
 */
export const limits = { total: 150, budget: 25, user: 2 };

const lifetime = (metric: 'impressions' | 'budget', limit: number): object => ({
  total_caps: [{ metric, per: 'lifetime', limit }],
});

/** Campaigns with one offer for each part of the journey, on a placement with the same name. */
const campaigns = {
  leased: { rules: lifetime('impressions', 1_000_000) },
  total: { rules: lifetime('impressions', limits.total) },
  /** Pays 1 per impression. */
  budget: { payout_kind: 'cpm', payout_amount: 1000, rules: lifetime('budget', limits.budget) },
  user: {
    rules: {
      frequency_caps: [{ scope: 'campaign', event: 'impression', limit: limits.user, window_minutes: 60 * 24 }],
    },
  },
  tracked: { payout_kind: 'cpc', payout_amount: 0.5 },
  hasty: {},
  refused: {},
  sold: { payout_kind: 'cpa', payout_amount: 10 },
  perk: {},
} satisfies Record<string, { rules?: object; payout_kind?: string; payout_amount?: number }>;

export type Part = keyof typeof campaigns;
export const parts = Object.keys(campaigns) as Part[];

/** Campaign IDs by part of the journey. */
export type Catalogue = Record<Part, number>;

/** Creates the campaigns and a webhook endpoint through the management API. */
export async function createCatalogue(client: Client, hookUrl: string): Promise<Catalogue> {
  for (const event of ['usp.selection', 'conversion']) {
    const endpoint = { url: hookUrl, method: 'POST', enabled: true, max_in_flight: 16 };
    await client.manage('PUT', `/manage/v1/webhook-endpoints/${event}`, endpoint);
  }
  const advertiser = await client.manage<{ id: number }>('POST', '/manage/v1/advertisers', { name: 'Set-ups' });
  const campaignEntries = await Promise.all(
    parts.map(async (part) => {
      const { rules, ...others } = { rules: {}, ...campaigns[part] };
      const campaign = await client.manage<{ id: number }>('POST', '/manage/v1/campaigns', {
        advertiser_id: advertiser.id,
        name: part,
        landing_url: 'https://shop.example/',
        ...others,
        rules: { ...rules, targeting: { placements: { include: [part] } } },
      });
      const offer = { campaign_id: campaign.id, title: `Offer ${part}`, cta_yes: 'Yes', cta_no: 'No' };
      await client.manage('POST', '/manage/v1/offers', offer);
      return [part, campaign.id] as const;
    }),
  );
  return Object.fromEntries(campaignEntries) as Catalogue;
}
