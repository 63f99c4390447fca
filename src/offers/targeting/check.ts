import { comparisonsIn } from '../../catalog/conditions.ts';
import type { Publisher } from '../../catalog/types.ts';
import { type CampaignDraft, type DraftCondition, unmetConditionsOf } from '../../decision/draft-eligibility.ts';
import type { DecisionContext } from '../../decision/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import type { SessionSample } from '../decision-log/decision-sample.ts';

/**
 * Comparison of a draft campaign with recent sessions. All counts are estimates for the whole period if only a sample
 * of its sessions was read.
 */
export type TargetingCheck = {
  /** Whether the counts are estimated from a sample. */
  isSampled: boolean;
  sessions: number;
  matching: number;
  /** Conditions that exclude sessions, most restrictive first. */
  conditions: readonly ConditionEffect[];
  /** Attributes and audiences in the rules that no sampled session has, so that they may be misspelt. */
  unseen: readonly { kind: 'attribute' | 'audience'; key: string }[];
  /** Recent sessions: some that match, and some that miss as few conditions as possible. */
  examples: readonly SessionExample[];
};

/**
 * Effect of a condition: the number of sessions that it excludes, and `only` for those that no other condition
 * excludes, which would match without it.
 */
type ConditionEffect = DraftCondition & { excluded: number; only: number };

export type SessionExample = { context: DecisionContext; unmet: readonly DraftCondition[] };

/** Maximum number of matching examples, and of others. */
const maxExamples = 3;

/**
 * Number of sessions to check before yielding to the event loop. With the most complex rules, a session takes almost a
 * millisecond.
 */
const sliceSize = 20;

/** Checks which recent sessions match a draft campaign, and which of its conditions exclude the others. */
export const checkTargeting = (
  sample: SessionSample,
  draft: CampaignDraft,
  publisher: Publisher,
): Promise<TargetingCheck> => runInSlices(checkEach(sample, draft, publisher));

function* checkEach(
  { contexts, share }: SessionSample,
  draft: CampaignDraft,
  publisher: Publisher,
): Generator<void, TargetingCheck> {
  const unmetOf = unmetConditionsOf(draft, publisher);
  const effects = new Map<string, ConditionEffect>();
  const checked: SessionExample[] = [];
  for (const [at, context] of contexts.entries()) {
    if (at % sliceSize === sliceSize - 1) yield;
    const unmet = unmetOf(context);
    checked.push({ context, unmet });
    for (const { rule, key } of unmet) {
      const effect = getOrInsert(effects, `${rule} ${key}`, () => ({ rule, key, excluded: 0, only: 0 }));
      effect.excluded += 1;
      if (unmet.length === 1) effect.only += 1;
    }
  }
  const estimate = (sessions: number): number => Math.round(sessions / share);
  const matches = checked.filter(({ unmet }) => unmet.length === 0);
  return {
    isSampled: share < 1,
    sessions: estimate(contexts.length),
    matching: estimate(matches.length),
    conditions: [...effects.values()]
      .sort((a, b) => b.excluded - a.excluded)
      .map((effect) => ({ ...effect, excluded: estimate(effect.excluded), only: estimate(effect.only) })),
    unseen: unseenIn(draft, contexts),
    examples: [...latest(matches), ...latest(nearest(checked.filter(({ unmet }) => unmet.length > 0)))],
  };
}

const latest = (examples: readonly SessionExample[]): SessionExample[] =>
  examples.toSorted((a, b) => b.context.nowMs - a.context.nowMs).slice(0, maxExamples);

/** Returns the sessions that miss the fewest conditions. */
function nearest(examples: readonly SessionExample[]): SessionExample[] {
  const fewest = examples.reduce((least, { unmet }) => Math.min(least, unmet.length), Number.POSITIVE_INFINITY);
  return examples.filter(({ unmet }) => unmet.length === fewest);
}

function unseenIn({ rules }: CampaignDraft, contexts: readonly DecisionContext[]): TargetingCheck['unseen'] {
  const attributes = rules.conditions === undefined ? [] : comparisonsIn(rules.conditions).map(({ key }) => key);
  const { include = [], exclude = [] } = rules.targeting?.audiences ?? {};
  const isUnseen = (has: (context: DecisionContext) => boolean): boolean => contexts.length > 0 && !contexts.some(has);
  return [
    ...[...new Set(attributes)]
      .filter((key) => isUnseen(({ custom }) => custom.has(key)))
      .map((key) => ({ kind: 'attribute' as const, key })),
    ...[...new Set([...include, ...exclude])]
      .filter((key) => isUnseen(({ audiences }) => audiences.includes(key)))
      .map((key) => ({ kind: 'audience' as const, key })),
  ];
}
