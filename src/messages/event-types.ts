import { type Static, Type } from '@sinclair/typebox';
import { couponSchema } from '../coupons/coupon.ts';
import type { MessagePerk } from '../perks/perk-messages.ts';
import type { EventType, SampleContext } from '../webhooks/events.ts';
import { type Composed, composeMessage } from './compose.ts';
import { samplePerks } from './sample.ts';
import type { MessageKind } from './store.ts';

const perk = Type.Object({
  title: Type.String(),
  description: Type.String(),
  advertiser_name: Type.String(),
  click_url: Type.String({ description: 'Link to the offer. Empty if there is none.' }),
  coupon: Type.Optional(couponSchema),
  ends_at: Type.Optional(Type.String({ format: 'date-time', description: 'End of the offer. Only in reminders.' })),
});

const payload = Type.Object({
  event: Type.Literal('perk_message'),
  message_id: Type.String({ description: '`Message-ID` of the e-mail. It is the same in every attempt.' }),
  kind: Type.Union([Type.Literal('perks'), Type.Literal('reminder')]),
  pub_user_id: Type.String({ description: "Publisher's ID of the recipient. Your mailer looks up the address." }),
  session_id: Type.String(),
  language: Type.String(),
  from_name: Type.String(),
  subject: Type.String(),
  html: Type.String(),
  text: Type.String(),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'Headers to send with the e-mail, for one-click unsubscribe.',
  }),
  perks: Type.Array(perk),
});

type Sent = {
  messageId: string;
  kind: MessageKind;
  pubUserId: string;
  sessionId: string;
  language: string;
  composed: Composed;
  perks: readonly MessagePerk[];
};

/**
 * Builds the webhook payload for a message. It contains the e-mail that would otherwise be sent by SMTP, but not the
 * address.
 */
export function buildMessagePayload({ composed, perks, ...about }: Sent): Buffer {
  const { fromName, subject, html, text, headers } = composed;
  const body: Static<typeof payload> = {
    event: 'perk_message',
    message_id: about.messageId,
    kind: about.kind,
    pub_user_id: about.pubUserId,
    session_id: about.sessionId,
    language: about.language,
    from_name: fromName,
    subject,
    html,
    text,
    headers,
    perks: perks.map(({ title, description, advertiser, url, coupon, endsAt }) => ({
      title,
      description,
      advertiser_name: advertiser,
      click_url: url,
      ...(coupon === undefined ? {} : { coupon }),
      ...(endsAt === undefined ? {} : { ends_at: endsAt }),
    })),
  };
  return Buffer.from(JSON.stringify(body));
}

export const perkMessage: EventType = {
  name: 'perk_message',
  title: 'Perk message',
  description: "Sent instead of an e-mail with a user's perks, if you deliver perk messages with your own mailer.",
  payload,
  sample: buildSample,
};

const sampleId = '019b7609-c800-7000-8000-000000000001';

function buildSample({ publisher, publicUrl, nowMs }: SampleContext): Buffer {
  const [language, perks] = ['en', samplePerks(publicUrl, nowMs)];
  const reader = { publisherId: publisher.id, addressKey: sampleId };
  const deps = { config: { publicUrl }, unsubscribeTokens: { mint: () => 'test' } };
  const composed = composeMessage(deps, { publisher, fromName: '', language, reader }, { kind: 'perks', perks });
  const ids = { messageId: `<${sampleId}@${new URL(publicUrl).hostname}>`, sessionId: sampleId };
  return buildMessagePayload({ ...ids, pubUserId: 'test-user', kind: 'perks', language, composed, perks });
}
