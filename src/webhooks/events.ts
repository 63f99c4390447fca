import type { Creative, Offer, Publisher } from '../catalog/snapshot/types.ts';
import { buildOfferView } from '../offers/render/view.ts';
import { buildUspPayload } from '../perks/usp/payload.ts';
import { buildWalletPayload } from '../perks/wallet/payload.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { buildPostback } from '../tracking/conversions/postback.ts';
import type { WebhookEvent } from './endpoints/store.ts';

type DummyContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/**
 * The payload of "Test Endpoint": made up, but written by the same code as real ones, so that it has every field. Its
 * links
 * carry no valid token.
 */
export function buildDummyPayload(event: WebhookEvent, context: DummyContext): Buffer {
  const { publisher, publicUrl, nowMs } = context;
  const offer = dummyOffer(publisher.id, publicUrl);
  if (event === 'usp.selection') return dummySelection(offer, context);
  if (event === 'conversion') return dummyConversion(offer, context);
  const view = buildOfferView({
    offer,
    publisher,
    copy: offer.copy,
    token: 'test',
    hasUser: true,
    qrCode: '',
    publicUrl,
  });
  return buildWalletPayload({ event, item: { pubUserId: testUser, offerId: offer.id }, atMs: nowMs }, view);
}

const testUser = 'test-user';

function dummySelection(offer: Offer, { publisher, publicUrl, nowMs }: DummyContext): Buffer {
  const { id: campaignId } = offer.campaign;
  const session = {
    id: newUuid7(nowMs),
    pubUserId: testUser,
    offerIds: [offer.id],
    campaignIds: [campaignId],
    macros: {},
    dev: false,
  };
  const context = { publisher, offers: new Map([[offer.id, offer]]), tokens: { mint: () => 'test' }, publicUrl };
  return buildUspPayload(session, [campaignId], context);
}

function dummyConversion({ id, campaign }: Offer, { nowMs }: DummyContext): Buffer {
  const { id: campaignId, advertiserName, isLoyalty } = campaign;
  const click = {
    sessionId: newUuid7(nowMs),
    offerId: id,
    campaignId,
    advertiserName,
    pubUserId: testUser,
    conversion: null,
  };
  const booking = {
    id: newUuid7(nowMs),
    event: 'conversion',
    isVoid: false,
    payoutMicros: 1_500_000n,
    currency: 'USD',
    isLoyalty,
    loyaltyMicros: 150_000_000n,
    suspicious: null,
    clickAtMs: nowMs,
    bookedAtMs: nowMs,
  };
  return buildPostback({ click: { ...click, custom: { subid: 'test' } }, booking, txnId: 'test-transaction' });
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
