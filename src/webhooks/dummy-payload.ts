import type { Creative, Offer, Publisher } from '../catalog/types.ts';
import { buildOfferView } from '../offers/view.ts';
import { newSessionId } from '../session-id.ts';
import { buildUspPayload } from '../usp/payload.ts';
import { buildWalletPayload } from '../wallet/payload.ts';
import type { WebhookEvent } from './endpoints.ts';

type DummyContext = { publisher: Publisher; publicUrl: string; nowMs: number };

/**
 * The payload of "Test Endpoint": made up, but written by the same code as real ones, so that it has every field. Its links
 * carry no valid token.
 */
export function buildDummyPayload(event: WebhookEvent, context: DummyContext): Buffer {
  const { publisher, publicUrl, nowMs } = context;
  const offer = dummyOffer(publisher.id, publicUrl);
  if (event === 'usp.selection') return dummySelection(offer, context);
  if (event === 'conversion') return dummyConversion(offer, context);
  const view = buildOfferView({ offer, publisher, copy: offer.copy, token: 'test', hasUser: true, qrCode: '', publicUrl });
  return buildWalletPayload({ event, item: { pubUserId: testUser, offerId: offer.id }, atMs: nowMs }, view);
}

const testUser = 'test-user';

function dummySelection(offer: Offer, { publisher, publicUrl, nowMs }: DummyContext): Buffer {
  const { id: campaignId } = offer.campaign;
  const session = {
    id: newSessionId(nowMs),
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
  const time = new Date(nowMs).toISOString();
  return Buffer.from(
    JSON.stringify({
      conversion_id: newSessionId(nowMs),
      status: 'recorded',
      event: 'conversion',
      txn_id: 'test-transaction',
      offer_id: id,
      campaign_id: campaign.id,
      advertiser_name: campaign.advertiserName,
      payout: 1.5,
      currency: 'USD',
      is_loyalty: campaign.isLoyalty,
      loyalty_amount: 150,
      click_time: time,
      conversion_time: time,
      void_time: '',
      session_id: newSessionId(nowMs),
      pub_user_id: testUser,
      suspicious: '',
      payload: { subid: 'test' },
    }),
  );
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
