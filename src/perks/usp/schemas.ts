import { Type } from '@sinclair/typebox';
import { couponSchema } from '../../coupons/coupon.ts';
import { exactNumber } from '../../platform/http/schemas.ts';

/**
 * Accepts any string or number, and converts numbers to strings. A user ID that no fetch could have used simply does
 * not match the session's user.
 */
const userId = Type.Optional(
  Type.Union([Type.String({ maxLength: 256 }), exactNumber], {
    description:
      '`pub_user_id` of the fetch, in the body or the query. Required with the SDK ID, optional with an API key.',
  }),
);

/** Maximum number of campaign IDs in a change. This is ample, because a response shows at most 10 campaigns. */
const maxIds = 100;

const campaignIds = (description: string) =>
  Type.Optional(Type.Array(Type.Integer(), { maxItems: maxIds, description }));

export const sessionParams = Type.Object({
  session_id: Type.String({ description: '`session_id` of the fetch response.' }),
});

export const campaignParams = Type.Object({
  session_id: sessionParams.properties.session_id,
  campaign_id: Type.String({ description: '`campaign_id` of an offer in the fetch response.' }),
});

export const uspQuery = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `ads/offers`, or the SDK ID.' })),
  pub_user_id: userId,
});

export const userBody = Type.Object(
  { pub_user_id: userId },
  { title: 'UserBody', description: 'Optional. Identifies the user.' },
);

export const changesBody = Type.Object(
  {
    pub_user_id: userId,
    selected: campaignIds('IDs of campaigns to select.'),
    unselected: campaignIds('IDs of campaigns to unselect.'),
  },
  { description: 'Changes to the selection. Optional. Either all are applied or none.' },
);

export const actionBody = Type.Object({
  pub_user_id: userId,
  action: Type.Literal('wrap', { description: 'Confirms the selection: closes the session and sends the webhook.' }),
  selected: campaignIds('IDs of campaigns to select first.'),
  unselected: campaignIds('IDs of campaigns to unselect first.'),
  consent: Type.Optional(
    Type.Unknown({
      description:
        'Whether the user asked for the confirmed perks by e-mail (see `email`): true, 1, "true", "1", "yes" or ' +
        '"granted". All other values mean no.',
    }),
  ),
  email: Type.Optional(
    Type.String({
      maxLength: 254,
      description:
        'Address for the e-mail, if `consent` is true. It is stored encrypted until the message is sent. Not ' +
        'needed if you use your own mailer.',
    }),
  ),
  language: Type.Optional(Type.String({ maxLength: 35, description: "BCP 47 tag of the e-mail's language." })),
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
          description: 'State of the session. `expired`: not wrapped within 24 hours of the fetch.',
        }),
        selected: Type.Array(Type.Integer(), { description: 'IDs of the selected campaigns, in the order shown.' }),
        unselected: Type.Array(Type.Integer(), {
          description: "IDs of the session's other campaigns, in the order shown.",
        }),
        wrapped_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
        campaigns: Type.Optional(
          Type.Array(Type.Object({ campaign_id: Type.Integer(), coupon: couponSchema }), {
            description: 'Coupon of each selected offer that has codes, after the wrap.',
          }),
        ),
      },
      { title: 'PerksSession' },
    ),
  },
  { title: 'PerksSessionAnswer' },
);
