import type { DecisionInput } from '../../decision/types.ts';
import type { Model, RateModel } from '../../learning/model.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';

/** Rankings that the current one can be compared with. */
export const alternatives = ['weights', 'no_context', 'without_campaign'] as const;
export type Alternative = { ranking: (typeof alternatives)[number]; campaignId: number | null };

/** Input of a decision by another ranking: by weights only, without data about users, or without a campaign. */
export function otherwise(input: DecisionInput, { ranking, campaignId }: Alternative): DecisionInput {
  const { context, model } = input;
  if (ranking === 'no_context') return { ...input, model: withoutEffects(model) };
  const arm =
    ranking === 'weights'
      ? { ...context.arm, ranking: 'fixed' as const }
      : { ...context.arm, withheld: [...(context.arm?.withheld ?? []), ...(campaignId === null ? [] : [campaignId])] };
  return { ...input, context: { ...context, arm } };
}

const blind = new WeakMap<Model, Model>();

/** Model without effects of users' properties. Its rates of offers and positions stay. */
const withoutEffects = (model: Model): Model =>
  getOrInsert(blind, model, () => ({
    ...model,
    click: withoutPriors(model.click),
    conversion: withoutPriors(model.conversion),
  }));

const withoutPriors = (rate: RateModel): RateModel => ({
  ...rate,
  effects: { ...rate.effects, priors: new Map() },
});
