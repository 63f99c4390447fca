import type { Creative, Offer, Publisher } from '../catalog/types.ts';
import { newSessionId } from '../session-id.ts';
import { buildUspPayload } from '../usp/payload.ts';

type DummyContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/**
 * The payload of "Test Endpoint": a made-up campaign, written by the same code as real ones, so that it has every field of
 * specification 2.6. Its links carry no valid token.
 */
export function buildDummyPayload({ publisher, publicUrl, nowMs }: DummyContext): Buffer {
  const offer = dummyOffer(publisher.id, publicUrl);
  const { id: campaignId } = offer.campaign;
  const session = {
    id: newSessionId(nowMs),
    pubUserId: 'test-user',
    offerIds: [offer.id],
    campaignIds: [campaignId],
    macros: {},
    dev: false,
  };
  const context = { publisher, offers: new Map([[offer.id, offer]]), tokens: { mint: () => 'test' }, publicUrl };
  return buildUspPayload(session, [campaignId], context);
}

function dummyOffer(publisherId: number, publicUrl: string): Offer {
  const creatives: Creative[] = [
    {
      id: 1,
      creativeType: 'offer_image',
      isPrimary: true,
      type: 'png',
      width: 600,
      height: 600,
      url: `${publicUrl}/images/1.png`,
      userId: 1,
    },
  ];
  return {
    id: 1,
    publisherId,
    campaign: {
      id: 1,
      publisherId,
      advertiserId: 1,
      advertiserName: 'Example Advertiser',
      name: 'Test Endpoint',
      category: 'test',
      tags: ['test'],
      active: true,
      priority: 0,
      weight: 0,
      isProduct: false,
      isLoyalty: true,
      offerDescription: 'This campaign does not exist.',
      landingUrl: 'https://advertiser.example/',
      clickIdParam: 'click_id',
      optOutDays: null,
      payout: { kind: 'cpc', amountMicros: 0, currency: 'USD' },
      rules: {},
      provisions: new Map(),
      creatives,
    },
    active: true,
    weight: 0,
    copy: {
      title: 'A made-up offer',
      description: 'Sent by Test Endpoint.',
      miniText: 'For testing only.',
      shortHeadline: 'Made-up offer',
      shortDescription: 'Sent by Test Endpoint.',
      ctaYes: 'Yes, please',
      ctaNo: 'No, thanks',
    },
    termsAndConditions: '<p>No terms apply.</p>',
    loyaltyRequirements: 'Nothing to do.',
    useractionCta: null,
    useractionUrl: null,
    advPixelUrl: '',
    walletEnabled: true,
    offerwallEnabled: true,
    creatives,
  };
}
