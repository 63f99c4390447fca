import { type Static, Type } from '@sinclair/typebox';

/** Position, score and propensity of a shown offer. */
const shownOffer = Type.Object(
  {
    offer_id: Type.Integer(),
    campaign_id: Type.Integer(),
    position: Type.Integer({ description: 'From 1.' }),
    score: Type.Number({
      description: 'Expected revenue of one impression as it was sampled, in millionths of the currency.',
    }),
    propensity: Type.Number({ description: 'Estimated probability that the offer is shown there, over all seeds.' }),
  },
  { title: 'ShownOffer' },
);

export const decisionAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    session_id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    seed: Type.Integer(),
    snapshot_version: Type.Integer({ description: 'Version of the catalogue the decision was made with.' }),
    identical: Type.Boolean({
      description: 'Whether deciding again from seed and catalogue gives the same decision, bit for bit.',
    }),
    offers: Type.Array(shownOffer, { description: 'As they were shown.' }),
    empty_reason: Type.Union([Type.String(), Type.Null()], { description: 'Why nothing was shown.' }),
    replayed: Type.Object({
      offers: Type.Array(shownOffer),
      empty_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  }),
});

export type ShownOffer = Static<typeof shownOffer>;
