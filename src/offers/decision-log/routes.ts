import { setTimeout as sleep } from 'node:timers/promises';
import { type TSchema, Type } from '@sinclair/typebox';
import { callOf, publisherIdParameter, publisherQuery } from '../../catalog/management/http.ts';
import type { CatalogDeps } from '../../catalog/ports.ts';
import type { DecisionInput, Explanation } from '../../decision/types.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { AppError } from '../../platform/errors.ts';
import { emptyBodyByDefault, nullFieldsAsAbsent } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { isUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { App } from '../../platform/ports.ts';
import { clientOf, fetchOffersBody, fetchOffersQuery, readFetchOffers } from '../fetch/request.ts';
import type { OfferService } from '../fetch/service.ts';
import { findDecision, inputOf, propensitiesOf, replay, type StoredDecision } from './re-decide.ts';

const tags = ['Decisions'];

/** For a session this young, its parts are looked for again after a while, and so often (milliseconds, count). */
const freshMs = 30_000;
const retryMs = 50;
const maxTries = 40;

const params = Type.Object({ id: Type.String({ description: 'Session id.' }) });

const explainQuery = Type.Composite([fetchOffersQuery, Type.Object({ publisher_id: publisherIdParameter })]);

const shownOffer = Type.Object({
  offer_id: Type.Integer(),
  campaign_id: Type.Integer(),
  position: Type.Integer({ description: 'From 1.' }),
  score: Type.Number({
    description: 'Expected revenue of one impression as it was drawn, in millionths of the currency.',
  }),
  propensity: Type.Number({ description: 'Estimated probability that the offer is shown there, over all seeds.' }),
});

const decisionAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    session_id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    seed: Type.Integer(),
    snapshot_version: Type.Integer({ description: 'Version of the catalogue the decision was made with.' }),
    identical: Type.Boolean({
      description: 'Whether made again from seed and snapshot the decision is the same, bit for bit.',
    }),
    offers: Type.Array(shownOffer, { description: 'As they were shown.' }),
    empty_reason: Type.Union([Type.String(), Type.Null()], { description: 'Why nothing was shown.' }),
    replayed: Type.Object({
      offers: Type.Array(shownOffer),
      empty_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  }),
});

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
        position: orNull(Type.Integer({ description: 'Where it would be shown, from 1; null: not.' })),
        rank: orNull(
          Type.Integer({ description: 'Place among all that could be shown, from 1; null: a rule shut it out.' }),
        ),
        score: orNull(
          Type.Number({
            description: 'Expected revenue of one impression as it was drawn, in millionths of the currency.',
          }),
        ),
        rule: orNull(Type.String({ description: 'The first rule that keeps it from being shown.' })),
        reason: Type.String({ description: 'The same in words.' }),
      }),
      { description: 'Those shown first, then those that could be, by rank, then all others.' },
    ),
  }),
});

const toView = ({ offer, position, rank, score, rule, reason }: Explanation) => ({
  offer_id: offer.id,
  campaign_id: offer.campaign.id,
  campaign_name: offer.campaign.name,
  advertiser_name: offer.campaign.advertiserName,
  title: offer.copy.title,
  position,
  rank,
  score,
  rule,
  reason,
});

/** Stored decisions, made again, and decisions explained. */
export async function decisionRoutes(
  app: App,
  { pool, dbHealth, auth, now, offers }: CatalogDeps & { offers: OfferService },
): Promise<void> {
  const guarded = createFailFast(dbHealth);

  /** What a decision just made was made with may still be on its way to the store. */
  async function inputWhenKept(stored: StoredDecision): Promise<DecisionInput | null> {
    for (let tries = now() - stored.createdAtMs < freshMs ? maxTries : 1; ; tries -= 1) {
      const input = await guarded(() => inputOf(pool, stored));
      if (input !== null || tries <= 1) return input;
      await sleep(retryMs);
    }
  }

  app.get(
    '/manage/v1/sessions/:id/decision',
    {
      schema: {
        summary: 'Replay the decision of a session',
        description:
          'For a week after the session. Says what was shown and makes the decision again from what it was made of.',
        tags,
        params,
        querystring: publisherQuery,
        response: { 200: decisionAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      preValidation: auth.requireKey('configurations', 'accounts'),
    },
    async (request) => {
      const { publisherId } = callOf(request);
      const id = request.params.id.toLowerCase();
      // A made-up id can carry a time that no date of the store holds.
      if (!isUuid7(id) || timeOfUuid7(id) > now() + dayMs) throw new AppError('session_not_found');
      const stored = await guarded(() => findDecision(pool, publisherId, id));
      if (stored === null) throw new AppError('session_not_found');
      const input = await inputWhenKept(stored);
      if (input === null) throw new AppError('decision_not_kept');
      const { identical, offers, emptyReason } = replay(stored, input);
      const propensityOf = await propensitiesOf(stored, input);
      return {
        message: identical ? 'The decision is the same, bit for bit.' : 'The decision is not the same.',
        data: {
          session_id: id,
          created_at: new Date(stored.createdAtMs).toISOString(),
          seed: stored.seed,
          snapshot_version: stored.snapshotVersion,
          identical,
          offers: stored.offerIds.map((offerId, at) => ({
            offer_id: offerId,
            campaign_id: stored.campaignIds[at] ?? 0,
            position: at + 1,
            score: stored.scores[at] ?? 0,
            propensity: propensityOf(offerId, at + 1),
          })),
          empty_reason: stored.emptyReason,
          replayed: {
            offers: offers.map(({ offer, score }, at) => ({
              offer_id: offer.id,
              campaign_id: offer.campaign.id,
              position: at + 1,
              score,
              propensity: propensityOf(offer.id, at + 1),
            })),
            empty_reason: emptyReason,
          },
        },
      };
    },
  );

  app.post(
    '/manage/v1/explain',
    {
      schema: {
        summary: 'Explain what a request would be shown',
        description:
          'Takes a fetch-offers request and says of each offer provisioned to the publisher why it would be shown, or not. Nothing is recorded.',
        tags,
        querystring: explainQuery,
        body: fetchOffersBody,
        response: { 200: explainAnswer, ...errorAnswers(400, 401, 403, 404, 413, 415) },
      },
      preValidation: [emptyBodyByDefault, nullFieldsAsAbsent, auth.requireKey('configurations', 'accounts')],
    },
    async (request) => {
      const wanted = readFetchOffers(request.query, request.body, clientOf(request));
      const explained = await offers.explain(callOf(request).publisher, wanted);
      const shown = explained.filter(({ position }) => position !== null).length;
      return {
        message: `${shown} of ${explained.length} offers would be shown.`,
        data: { count: explained.length, offers: explained.map(toView) },
      };
    },
  );
}
