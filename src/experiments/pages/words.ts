import type { Publisher } from '../../catalog/types.ts';
import { type MessageKey, t } from '../../platform/i18n/messages.ts';
import { change, changeSize, count, decimal, fieldName, momentText, percent, utc } from '../../shell/format.ts';
import { type ArmInput, labelNames } from '../configuration/changes.ts';
import type { ExperimentValues, ExperimentView } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import type { Estimate } from '../statistics/compare.ts';

/** Describes the changes of an experiment as text. */
export function inWords({ arms, holdout, campaign_id: campaignId }: ExperimentValues, publisher: Publisher): string {
  const parts = arms.map((arm) => {
    const changes = changesInWords(arm, publisher);
    const share = percent(arm.share);
    return changes === '' ? t('experiments.armKeeps', { share }) : t('experiments.armDoes', { share, changes });
  });
  if (holdout > 0)
    parts.push(
      campaignId === null
        ? t('experiments.nothingTo', { share: percent(holdout) })
        : t('experiments.withoutTo', { share: percent(holdout), campaign: campaignName(campaignId, publisher) }),
    );
  return parts.join(' ');
}

const campaignName = (id: number, { index }: Publisher): string =>
  index.offers.find(({ campaign }) => campaign.id === id)?.campaign.name ?? String(id);

/** Describes the changes of an arm as text. Empty if it makes none. */
export function changesInWords({ changes }: Pick<ArmInput, 'changes'>, { themes }: Publisher): string {
  const { offers_per_response, theme_id, ranking, floor, settings, labels } = changes;
  return [
    offers_per_response === undefined ? '' : t('experiments.doesOffers', { count: offers_per_response }),
    theme_id === undefined ? '' : t('experiments.doesTheme', { theme: themes.get(theme_id)?.name ?? String(theme_id) }),
    ranking === undefined ? '' : t('experiments.doesRanking'),
    floor === undefined ? '' : t('experiments.doesFloor', { floor: decimal(floor) }),
    settings === undefined && labels === undefined
      ? ''
      : t('experiments.doesTexts', { names: textNames(changes).join(', ') }),
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Returns text such as `+4.1%, between +1.2% and +7%`. */
export const liftText = (lift: Estimate | null): string =>
  lift === null
    ? '–'
    : t('experiments.between', { lift: change(lift.estimate), low: change(lift.low), high: change(lift.high) });

/** Number of days up to which the remaining time is shown. A longer time is not worth waiting for. */
export const maxDaysLeft = 365;

/** Returns the remaining days as text, such as `12` or `> 365`. */
export const daysLeftText = (days: number | null): string => {
  if (days === null) return '–';
  return days > maxDaysLeft ? `>\u00a0${count(maxDaysLeft)}` : count(days);
};

/** Returns text saying whether there is enough data for a result or, if not, when there should be. */
function daysText({ is_enough: isEnough, days_left: days, enough_since: since }: ExperimentReport): string {
  if (isEnough) {
    const day = since === null ? '' : momentText(utc, Date.parse(since), 'day');
    return day === '' ? t('experiments.enough') : t('experiments.enoughSince', { day });
  }
  if (days === null) return t('experiments.notEnough');
  return days > maxDaysLeft ? t('experiments.notEnoughLong') : t('experiments.notEnoughDays', { days });
}

/** Names of settings. Those of rarely used settings are their names in the API. */
const settingNames: Readonly<Record<string, MessageKey>> = {
  ad_animation: 'themes.animation',
  ad_position: 'themes.dialogPosition',
  button_order: 'themes.buttonOrder',
  close_ad_on_click_outside: 'themes.closeOnClickOutside',
  darken_bg: 'themes.darkenPage',
  delay: 'themes.delay',
  enable_effect_shimmer_pos_cta: 'experiments.settingShimmer',
  offerwall_cta: 'themes.moreOffers',
  perkswallet_cta: 'themes.saveForLater',
  progress_bar_type: 'themes.progress',
  show_ads_on_exit: 'themes.showOnExit',
  show_close: 'themes.closeButton',
  usp_cta_text: 'themes.perkCheckbox',
};

/** Returns the names of the labels and settings that an arm changes. */
const textNames = ({ settings, labels }: Pick<ArmInput['changes'], 'settings' | 'labels'>): string[] => [
  // While the user is still typing, the settings may not be an object.
  ...(typeof settings === 'object' ? Object.keys(settings ?? {}) : []).map((name) => {
    const key = settingNames[name];
    return key === undefined ? fieldName(name) : t(key);
  }),
  ...labelNames.filter((name) => labels?.[name] !== undefined).map((name) => t(`experiments.label_${name}`)),
];

const isTrusted = ({ sample_ratio: shares, before_exposure: before }: ExperimentReport): boolean =>
  !shares.is_wrong && !before.is_wrong;

/** Returns the currencies whose amounts are not included in the metrics, because there was no exchange rate. */
const unconvertedOf = ({ arms }: ExperimentReport): string[] =>
  [
    ...new Set(
      arms.flatMap(({ revenue_by_currency: sums }) =>
        sums.flatMap(({ currency, not_converted: part }) => (part === 0 ? [] : [currency])),
      ),
    ),
  ].sort();

/** Whether an earlier release added up revenue in different currencies without converting it. */
const isMixed = ({ arms }: ExperimentReport): boolean =>
  arms.some(({ metrics }) => metrics.revenue_per_1000_sessions === undefined);

/** Returns warnings about the results of a report. */
export function warningsOf(report: ExperimentReport): string[] {
  const { sample_ratio: shares, seen_ratio: seenShares, before_exposure: before } = report;
  const unconverted = unconvertedOf(report);
  return [
    ...(isMixed(report) ? [t('experiments.mixedCurrencies')] : []),
    ...(unconverted.length > 0 && !isMixed(report)
      ? [t('experiments.notConverted', { currencies: unconverted.join(', ') })]
      : []),
    ...(shares.is_wrong ? [t('experiments.sharesWrong')] : []),
    ...(before.is_wrong ? [t('experiments.differBefore', { arms: before.arms.join(', ') })] : []),
    ...(seenShares?.is_wrong ? [t('experiments.seenWrong')] : []),
  ];
}

type Arm = ExperimentReport['arms'][number];

const revenueOf = ({ metrics }: Arm) => metrics.revenue_per_1000_sessions;

/** Returns the arm with the best result: significant lifts first, then the highest lift. Null without results. */
function bestOf({ arms: [, ...others] }: ExperimentReport): { arm: Arm; lift: Estimate; isCertain: boolean } | null {
  const candidates = others.flatMap((arm) => {
    const revenue = revenueOf(arm);
    const lift = revenue?.lift ?? null;
    return lift === null ? [] : [{ arm, lift, isCertain: revenue?.is_significant === true }];
  });
  candidates.sort((a, b) => Number(b.isCertain) - Number(a.isCertain) || b.lift.estimate - a.lift.estimate);
  return candidates[0] ?? null;
}

type Result = { value: number; difference: Estimate | null; probability_best: number } | undefined;

/**
 * Returns the probabilities to be best of all arms, control first. Null while an arm has too few users for a
 * comparison, or if no arm has any value: the figures would then mean nothing.
 */
export function probabilitiesOf([control, ...others]: readonly Result[]): number[] | null {
  const all = [control, ...others];
  const isCompared = others.length > 0 && others.every((result) => (result?.difference ?? null) !== null);
  if (!isCompared || all.every((result) => (result?.value ?? 0) === 0)) return null;
  return all.map((result) => result?.probability_best ?? 0);
}

/** Returns a probability as text. It is computed from random draws, so more digits would be noise. */
export function probabilityText(probability: number): string {
  const rounded = Math.round(probability * 100) / 100;
  if (rounded >= 1) return `>\u00a0${percent(0.99)}`;
  return rounded <= 0 ? `<\u00a0${percent(0.01)}` : percent(rounded);
}

/** Returns the probability that the arm earns most, or null if it is not known. */
function probabilityOf({ arms }: ExperimentReport, arm: string): number | null {
  const at = arms.findIndex((candidate) => candidate.arm === arm);
  return probabilitiesOf(arms.map(revenueOf))?.[at] ?? null;
}

/** Returns the sentence with which the page of an experiment begins. */
export function headlineOf(report: ExperimentReport, state: ExperimentView['state']): string {
  if (!isTrusted(report)) return t('experiments.notTrusted');
  if (isMixed(report)) return t('experiments.notComparable');
  const best = bestOf(report);
  if (best?.isCertain) {
    const isMore = best.lift.estimate > 0;
    // Among several arms, the probability to be best says nothing about the comparison with the control.
    const leader = isMore ? best.arm.arm : report.control;
    const sure = report.arms.length > 2 ? null : probabilityOf(report, leader);
    return t('experiments.earns', {
      arm: best.arm.arm,
      lift: changeSize(Math.abs(best.lift.estimate)),
      direction: isMore ? 'more' : 'less',
      sure: sure === null ? 'unknown' : probabilityText(sure),
    });
  }
  if (report.is_enough) return t('experiments.noDifference', { lift: percent(report.smallest_lift) });
  const { users_counted: users, users_needed: needed } = report;
  const isOver = state === 'stopped' || state === 'ended';
  if (users === 0) return t(isOver ? 'experiments.endedEmpty' : 'experiments.noUsers');
  if (needed === null) return t(isOver ? 'experiments.endedEarly' : 'experiments.tooFew', { users });
  if (users >= needed) return t('experiments.undecided', { users });
  const values = { users: count(users), needed: count(needed) };
  return t(isOver ? 'experiments.endedBefore' : 'experiments.tooEarly', values);
}

/** Returns the key of the arm that earns significantly more than the control. Null if there is no such result. */
export function winnerOf(report: ExperimentReport): string | null {
  const best = isTrusted(report) ? bestOf(report) : null;
  return best?.isCertain && best.lift.estimate > 0 ? best.arm.arm : null;
}

/** Returns the best result so far and the time until there is enough data. */
export function detailOf(report: ExperimentReport, state: ExperimentView['state']): string {
  const best = isTrusted(report) ? bestOf(report) : null;
  const bestArm = best === null ? [] : [t('experiments.found', { arm: best.arm.arm, lift: liftText(best.lift) })];
  return [...bestArm, ...(state === 'running' || report.is_enough ? [daysText(report)] : [])].join(' ');
}

/** Returns the reasons not to make an arm permanent yet. */
export function adoptionWarnings(report: ExperimentReport, arm: string): string[] {
  const probability = probabilityOf(report, arm);
  const isLikely = probability !== null && probability >= likely;
  return [
    ...(isTrusted(report) ? [] : [t('experiments.notTrusted')]),
    ...warningsOf(report),
    ...(probability === null ? [t('experiments.adoptUnknown', { arm })] : []),
    ...(probability !== null && !isLikely
      ? [t('experiments.adoptUnlikely', { arm, probability: probabilityText(probability) })]
      : []),
    ...(report.is_enough ? [] : [t('experiments.notEnough')]),
  ];
}

/** Probability to be best from which an arm can be made permanent without a warning. */
const likely = 0.95;
