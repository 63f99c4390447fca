import { type TSchema, Type } from '@sinclair/typebox';
import { type Caller, calledPublisher } from '../../accounts/caller.ts';
import { localise } from '../../catalog/provisioning.ts';
import type { Offer, Publisher } from '../../catalog/types.ts';
import type { Explanation } from '../../decision/explain.ts';
import { publisherIdParameter } from '../../management/http.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { Wanted } from '../../platform/i18n/reader.ts';
import type { Explain } from './input-now.ts';
import { apiInfluence, apiReason } from './reason-text.ts';
import { clientOf, readFetchOffers } from './request.ts';
import { fetchOffersBody, fetchOffersQuery } from './request-schema.ts';
import { createTolerantCheck } from './tolerant-input.ts';

const explainQuery = Type.Composite([fetchOffersQuery, Type.Object({ publisher_id: publisherIdParameter })]);

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const explainAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    count: Type.Integer(),
    offers: Type.Array(
      Type.Object({
        offer_id: Type.Integer(),
        campaign_id: Type.Integer(),
        campaign_name: Type.String(),
        advertiser_name: Type.String(),
        title: Type.String(),
        language: Type.String({ description: "Language of the offer's copy, as a BCP 47 tag." }),
        position: orNull(
          Type.Integer({ description: 'Position, starting at 1, or `null` if the offer would not be shown.' }),
        ),
        rank: orNull(
          Type.Integer({
            description: 'Rank among all eligible offers, starting at 1. `null` if a rule excludes the offer.',
          }),
        ),
        score: orNull(
          Type.Number({
            description: 'Sampled expected revenue of one impression, in millionths of the currency.',
          }),
        ),
        rule: orNull(Type.String({ description: 'First rule that keeps the offer from being shown.' })),
        reason: Type.String({ description: 'The rule as a sentence.' }),
        influences: Type.Array(
          Type.Object({
            property: Type.String({
              description: 'Property, such as device, hour, or the name of a custom attribute.',
            }),
            value: Type.String(),
            factor: Type.Number({ description: 'Factor by which the property changes the expected revenue.' }),
            text: Type.String({ description: 'The influence as a sentence.' }),
          }),
          { description: 'Properties of the request that influenced the score most, at most three.' },
        ),
      }),
      { description: 'Offers that would be shown, then other eligible offers by rank, then all others.' },
    ),
  }),
});

const toView = (
  { offer, position, rank, score, rule, reason, influences }: Explanation,
  preferred: Wanted,
  publisher: Publisher,
) => ({
  offer_id: offer.id,
  campaign_id: offer.campaign.id,
  campaign_name: offer.campaign.name,
  advertiser_name: offer.campaign.advertiserName,
  ...textsOf(offer, preferred, publisher),
  position,
  rank,
  score,
  rule,
  reason: apiReason(reason),
  influences: influences.map((influence) => ({ ...influence, text: apiInfluence(influence) })),
});

const textsOf = (offer: Offer, preferred: Wanted, publisher: Publisher): { title: string; language: string } => {
  const { copy, language } = localise(offer, preferred, publisher);
  return { title: copy.title, language: language ?? publisher.language.key };
};

const removeUnreadable = createTolerantCheck({ querystring: explainQuery, body: fetchOffersBody });

/** Registers the route that explains for each offer why a fetch-offers request would or would not return it. */
export async function explainRoutes(
  app: App,
  { auth, explain }: { auth: Authenticator<Caller>; explain: Explain },
): Promise<void> {
  const schema = {
    operationId: 'explainOffers',
    summary: 'Explain a fetch',
    description:
      'Takes the body of a fetch and explains for each offer that is provisioned to the publisher why it would ' +
      'be shown or not. Nothing is recorded.',
    tags: ['Decisions'],
    querystring: explainQuery,
    body: fetchOffersBody,
    response: { 200: explainAnswer, ...errorAnswers(400, 401, 403, 404, 413, 415) },
  };
  const preValidation = auth.requireKey('configurations', 'accounts');
  const options = { schema, preValidation, ...unvalidated, config: { effect: 'read' } as const };
  app.post('/manage/v1/explain', options, async (request) => {
    removeUnreadable(request, () => {});
    const publisher = calledPublisher(request);
    const fetchRequest = readFetchOffers(
      request.query,
      request.body,
      clientOf(request),
      undefined,
      publisher.defaultPlacement,
    );
    const explained = await explain(publisher, fetchRequest);
    const shownCount = explained.filter(({ position }) => position !== null).length;
    return {
      message: `${shownCount} of ${explained.length} offers would be shown.`,
      data: {
        count: explained.length,
        offers: explained.map((explanation) =>
          toView(explanation, fetchRequest.language ?? publisher.language, publisher),
        ),
      },
    };
  });
}
