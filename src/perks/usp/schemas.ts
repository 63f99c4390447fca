import { Type } from '@sinclair/typebox';
import { couponSchema } from '../../coupons/coupon.ts';
import { exactNumber } from '../../platform/http/schemas.ts';

/** Any text. A text that no fetch could have is just another user's. Numbers are accepted as text. */
const userId = Type.Optional(
  Type.Union([Type.String({ maxLength: 256 }), exactNumber], {
    description:
      'The pub_user_id of the fetch, in the body or the query; required with the SDK id, optional with an API key.',
  }),
);

/** Maximum number of campaign ids in a change. A response never shows more than 10. */
const maxIds = 100;

const campaignIds = (description: string) =>
  Type.Optional(Type.Array(Type.Integer(), { maxItems: maxIds, description }));

export const sessionParams = Type.Object({
  session_id: Type.String({ description: 'session_id of the fetch-offers answer.' }),
});

export const campaignParams = Type.Object({
  session_id: sessionParams.properties.session_id,
  campaign_id: Type.String({ description: 'campaign_id of an offer of that answer.' }),
});

export const uspQuery = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `ads/offers`, or the SDK id.' })),
  pub_user_id: userId,
});

export const userBody = Type.Object({ pub_user_id: userId }, { title: 'UserBody', description: 'May be absent.' });

export const changesBody = Type.Object(
  {
    pub_user_id: userId,
    selected: campaignIds('Campaigns to select.'),
    unselected: campaignIds('Campaigns to unselect.'),
  },
  { description: 'Changes to the selection, applied all or not at all. May be absent.' },
);

export const actionBody = Type.Object({
  pub_user_id: userId,
  action: Type.Literal('wrap', { description: 'The confirmation event: closes the session and sends the webhook.' }),
  selected: campaignIds('Campaigns to select before.'),
  unselected: campaignIds('Campaigns to unselect before.'),
  consent: Type.Optional(
    Type.Unknown({
      description:
        'true, 1, "true", "1", "yes" or "granted": the user has asked for the confirmed perks by e-mail; see ' +
        '`email`. Any other value asks for none.',
    }),
  ),
  email: Type.Optional(
    Type.String({
      maxLength: 254,
      description:
        'Where they are sent to, with `consent` true; kept sealed until then. Not needed where your own mailer ' +
        'delivers.',
    }),
  ),
  language: Type.Optional(Type.String({ maxLength: 35, description: 'Of the e-mail, BCP 47.' })),
});

/** Schema of the session view (docs/reference/perks-and-wallet.md#user-selected-perks). */
export const sessionView = Type.Object(
  {
    message: Type.String(),
    data: Type.Object(
      {
        session_id: Type.String({ format: 'uuid' }),
        pub_user_id: Type.String(),
        status: Type.Union([Type.Literal('open'), Type.Literal('wrapped'), Type.Literal('expired')], {
          description: 'expired: not wrapped within 24 hours of the fetch.',
        }),
        selected: Type.Array(Type.Integer(), { description: 'Campaign ids, in the order shown.' }),
        unselected: Type.Array(Type.Integer(), {
          description: "The session's other campaign ids, in the order shown.",
        }),
        wrapped_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
        campaigns: Type.Optional(
          Type.Array(Type.Object({ campaign_id: Type.Integer(), coupon: couponSchema }), {
            description: 'After the wrap, of each selected offer that has codes: the one this user was given.',
          }),
        ),
      },
      { title: 'PerksSession' },
    ),
  },
  { title: 'PerksSessionAnswer' },
);
