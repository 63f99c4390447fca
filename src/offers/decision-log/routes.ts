import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { Propensity } from '../../decision/propensity.ts';
import type { DecisionInput } from '../../decision/types.ts';
import { announcedOf } from '../../experiments/assign.ts';
import { callOf, publisherQuery } from '../../management/http.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { isPossibleUuid7 } from '../../platform/lib/uuid7.ts';
import { findDecision, inputOf, propensitiesOf, reDecide, type StoredDecision } from '../re-decide.ts';

/**
 * Session age below which the catalogue state of the session's decision may not have been stored yet, in milliseconds.
 */
const freshMs = 30_000;
const retryMs = 50;
const maxAttempts = 40;

/** Schema of a shown offer with its position, score and propensity. */
const shownOffer = Type.Object(
  {
    offer_id: Type.Integer(),
    campaign_id: Type.Integer(),
    position: Type.Integer({ description: 'Position, starting at 1.' }),
    score: Type.Number({
      description: 'Sampled expected revenue of one impression, in millionths of the currency.',
    }),
    propensity: Type.Number({
      description: 'Estimated probability, over all seeds, that the offer is shown at this position.',
    }),
  },
  { title: 'ShownOffer' },
);

const decisionAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    session_id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    seed: Type.Integer(),
    snapshot_version: Type.Integer({ description: 'Version of the catalogue at the time of the decision.' }),
    identical: Type.Boolean({
      description: 'Whether repeating the decision with the same seed and catalogue gives exactly the same result.',
    }),
    offers: Type.Array(shownOffer, { description: 'Offers as they were shown.' }),
    empty_reason: Type.Union([Type.String(), Type.Null()], { description: 'Why no offers were shown.' }),
    experiments: Type.Optional(
      Type.Array(Type.Object({ key: Type.String(), arm: Type.String() }), {
        description: 'Experiments that applied, with the arm of each. Omitted if there were none.',
      }),
    ),
    would_have_shown: Type.Optional(
      Type.Array(Type.Integer(), {
        description: 'Offers that would have been shown without the hold-out. Omitted if the session was not held out.',
      }),
    ),
    replayed: Type.Object({
      offers: Type.Array(shownOffer),
      empty_reason: Type.Union([Type.String(), Type.Null()]),
    }),
  }),
});

type ShownOffer = Static<typeof shownOffer>;

const params = Type.Object({ id: Type.String({ description: 'ID of the session.' }) });

const schema = {
  operationId: 'redecideSession',
  summary: 'Repeat the decision of a session',
  description:
    'Returns the original decision, and the result of repeating it with the same inputs. Available for a week ' +
    'after the session.',
  tags: ['Decisions'],
  params,
  querystring: publisherQuery,
  response: { 200: decisionAnswer, ...errorAnswers(400, 401, 403, 404) },
};

type DecisionLogDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  auth: Authenticator<Caller>;
  now: () => number;
};

/** Registers the decision log routes, which re-decide stored decisions (docs/interface.md). */
export async function decisionLogRoutes(app: App, { pool, dbHealth, auth, now }: DecisionLogDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);

  async function inputWhenStored(stored: StoredDecision): Promise<DecisionInput> {
    for (let attempts = now() - stored.createdAtMs < freshMs ? maxAttempts : 1; attempts > 0; attempts -= 1) {
      const input = await failFast(() => inputOf(pool, stored));
      if (input !== null) return input;
      if (attempts > 1) await sleep(retryMs);
    }
    throw new AppError('decision_not_kept');
  }

  const preValidation = auth.requireKey('configurations', 'accounts');
  app.get('/manage/v1/sessions/:id/decision', { schema, preValidation }, async (request) => {
    const { publisherId } = callOf(request);
    const id = request.params.id.toLowerCase();
    // A forged session ID can contain a time that is outside PostgreSQL's date range.
    if (!isPossibleUuid7(id, now())) throw new AppError('session_not_found');
    const stored = await failFast(() => findDecision(pool, publisherId, id));
    const input = await inputWhenStored(stored);
    return toView(stored, input, await propensitiesOf(stored, input));
  });
}

function toView(stored: StoredDecision, input: DecisionInput, propensityOf: Propensity) {
  const { identical, offers, emptyReason } = reDecide(stored, input);
  const { experiments, ghost } = stored.inputs;
  const toShownOffer = (index: number, offerId: number, campaignId = 0, score = 0): ShownOffer => ({
    offer_id: offerId,
    campaign_id: campaignId,
    position: index + 1,
    score,
    propensity: propensityOf(offerId, index + 1),
  });
  return {
    message: identical ? 'The decision is the same, bit for bit.' : 'The decision is not the same.',
    data: {
      session_id: stored.sessionId,
      created_at: new Date(stored.createdAtMs).toISOString(),
      seed: stored.seed,
      snapshot_version: stored.catalogVersion,
      identical,
      offers: stored.offerIds.map((id, index) =>
        toShownOffer(index, id, stored.campaignIds[index], stored.scores[index]),
      ),
      empty_reason: stored.emptyReason,
      ...(experiments === undefined ? {} : { experiments: announcedOf(experiments.arms) }),
      ...(ghost === undefined ? {} : { would_have_shown: [...ghost.offers] }),
      replayed: {
        offers: offers.map(({ offer, score }, index) => toShownOffer(index, offer.id, offer.campaign.id, score)),
        empty_reason: emptyReason,
      },
    },
  };
}
