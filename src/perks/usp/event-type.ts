import { Type } from '@sinclair/typebox';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import { sampleOffer, sampleUserId } from '../sample-offer.ts';
import { buildUspPayload } from './payload.ts';

const payload = Type.Object({
  body: Type.Object({
    pub_user_id: Type.String(),
    selected: Type.Union([Type.Literal(0), Type.Literal(1)]),
    session_id: Type.String({ format: 'uuid' }),
    campaigns: Type.Array(
      Type.Object({
        campaign_id: Type.Integer(),
        advertiser_name: Type.String(),
        title: Type.String(),
        description: Type.String(),
        click_url: Type.String(),
        image: Type.String(),
        pixel: Type.String(),
      }),
      { description: 'The selected campaigns in the order shown; see docs/interface.md#usp-webhook-payload.' },
    ),
  }),
});

/** Sent when a user's selection is confirmed (docs/interface.md#usp-webhook-payload). */
export const uspSelection: EventType = {
  name: 'usp.selection',
  title: 'User Selected Perks',
  description: 'Sent when a user’s perks are confirmed, with what was picked.',
  payload,
  sample: buildSample,
};

function buildSample({ publisher, publicUrl, nowMs }: SampleContext): Buffer {
  const offer = sampleOffer(publisher.id, publicUrl);
  const campaignId = offer.campaign.id;
  const session = {
    id: newUuid7(nowMs),
    pubUserId: sampleUserId,
    offerIds: [offer.id],
    campaignIds: [campaignId],
    macros: {},
    dev: false,
  };
  const context = { publisher, offers: new Map([[offer.id, offer]]), tokens: { mint: () => 'test' }, publicUrl };
  return buildUspPayload(session, [campaignId], context);
}
