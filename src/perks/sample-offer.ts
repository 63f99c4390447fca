import type { Creative, Offer } from '../catalog/types.ts';

/** User ID for sample payloads. */
export const sampleUserId = 'test-user';

/** Builds a sample offer with every field set, for the payloads that "Test Endpoint" sends. */
export function sampleOffer(publisherId: number, publicUrl: string): Offer {
  const creatives: Creative[] = [
    {
      id: 1,
      creativeType: 'offer_image',
      isPrimary: true,
      type: 'png',
      width: 600,
      height: 600,
      url: `${publicUrl}/images/1.png`,
      language: null,
      userId: 1,
    },
  ];
  return {
    id: 1,
    publisherId,
    campaign: sampleCampaign(publisherId, creatives),
    active: true,
    stopped: null,
    weight: 0,
    language: null,
    translations: null,
    copy: {
      title: 'A sample offer',
      description: 'Sent by Test Endpoint.',
      miniText: 'For testing only.',
      shortHeadline: 'Sample offer',
      shortDescription: 'Sent by Test Endpoint.',
      ctaYes: 'Yes, please',
      ctaNo: 'No, thanks',
    },
    termsAndConditions: '<p>No terms apply.</p>',
    loyaltyRequirements: 'None.',
    useractionCta: null,
    useractionUrl: null,
    advPixelUrl: '',
    walletEnabled: true,
    offerwallEnabled: true,
    creatives,
    coupon: null,
  };
}

const sampleCampaign = (publisherId: number, creatives: Creative[]): Offer['campaign'] => ({
  id: 1,
  publisherId,
  advertiserId: 1,
  advertiserName: 'Example Advertiser',
  advertiserEvents: [],
  name: 'Test Endpoint',
  category: 'test',
  tags: ['test'],
  active: true,
  stopped: null,
  priority: 0,
  weight: 0,
  ranking: 'learned',
  isProduct: false,
  isLoyalty: true,
  offerDescription: 'This campaign does not exist.',
  landingUrl: 'https://advertiser.example/',
  clickIdParam: 'click_id',
  optOutDays: null,
  overspendPercent: 0,
  goal: null,
  activatedAtMs: null,
  payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
  rules: {},
  provisions: new Map(),
  creatives,
});
