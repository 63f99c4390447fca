import { isKnownTo } from '../../../catalog/provisioning.ts';
import type { Campaign, Offer, Publisher, Snapshot } from '../../../catalog/types.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { getOrInsert } from '../../../platform/lib/get-or-insert.ts';
import { valueWord } from '../../row-words.ts';
import { attributeOf, type ExplorerDimension } from './state.ts';

/**
 * Looks up display names for the IDs in a publisher's reports. An offer that the publisher neither owns nor shows
 * appears as its ID.
 */
export type Names = {
  offer: (id: number) => Offer | undefined;
  campaign: (id: number) => Campaign | undefined;
  advertiser: (id: number) => string | undefined;
  campaignsOf: (advertiserId: number) => number[];
  /** Returns the IDs of all campaigns and, in the same order, of their advertisers. */
  advertisers: () => { campaignIds: number[]; advertiserIds: number[] };
};

export function namesOf({ offers, offersByCampaign }: Snapshot, { id: publisherId }: Publisher): Names {
  const ifVisible = (offer: Offer | undefined): Offer | undefined =>
    offer !== undefined && isKnownTo(offer, publisherId) ? offer : undefined;
  let grouped: Map<number, Campaign[]> | null = null;
  // Few reports need advertisers, and a catalogue can have 100,000 campaigns.
  const byAdvertiser = (): ReadonlyMap<number, readonly Campaign[]> => {
    if (grouped !== null) return grouped;
    grouped = new Map();
    for (const [offer] of offersByCampaign.values()) {
      const campaign = ifVisible(offer)?.campaign;
      if (campaign !== undefined) getOrInsert(grouped, campaign.advertiserId, () => []).push(campaign);
    }
    return grouped;
  };
  const campaignsOf = (advertiserId: number): readonly Campaign[] => byAdvertiser().get(advertiserId) ?? [];
  return {
    offer: (id) => ifVisible(offers.get(id)),
    campaign: (id) => ifVisible(offersByCampaign.get(id)?.[0])?.campaign,
    advertiser: (id) => campaignsOf(id)[0]?.advertiserName,
    campaignsOf: (advertiserId) => campaignsOf(advertiserId).map(({ id }) => id),
    advertisers: () => {
      const campaigns = [...byAdvertiser().values()].flat();
      return {
        campaignIds: campaigns.map(({ id }) => id),
        advertiserIds: campaigns.map(({ advertiserId }) => advertiserId),
      };
    },
  };
}

/** Returns the display name of a dimension, such as `Placement`, or the key of a custom attribute. */
export const dimensionText = (name: string): string =>
  attributeOf(name) ?? t(`dimensions.${name as ExplorerDimension | 'time'}`);

/** Returns the display text of a dimension value. */
export function valueText(names: Names, by: string, value: string): string {
  const id = Number(value);
  if (by === 'offer') {
    const offer = names.offer(id);
    return offer?.copy.title || offer?.copy.shortHeadline || t('reports.offer', { id: String(id) });
  }
  if (by === 'campaign') return names.campaign(id)?.name ?? t('reports.campaign', { id: String(id) });
  if (by === 'advertiser') return names.advertiser(id) ?? t('reports.removedAdvertisers');
  return valueWord(by, value);
}

/** Returns a second line that distinguishes values with equal names, or an empty string if no such line is needed. */
export function valueDetail(names: Names, by: string, value: string): string {
  const id = Number(value);
  const name = by === 'offer' ? names.offer(id)?.campaign.name : names.campaign(id)?.advertiserName;
  const hasDetail = (by === 'offer' || by === 'campaign') && name !== undefined;
  return hasDetail ? t('reports.nameAndId', { name, id: String(id) }) : '';
}
