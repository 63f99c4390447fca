import { t } from '../../platform/i18n/messages.ts';
import { change, fieldName, momentText, percent, utc } from '../../shell/format.ts';
import { type ArmInput, labelNames } from '../configuration/changes.ts';
import type { ExperimentValues } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import type { Estimate } from '../statistics/compare.ts';

/** Describes the changes of an experiment as text. */
export function inWords({ arms, holdout, campaign_id: campaignId }: ExperimentValues): string {
  const parts = arms.map((arm) => {
    const changes = changesInWords(arm);
    const share = percent(arm.share);
    return changes === '' ? t('experiments.armKeeps', { share }) : t('experiments.armDoes', { share, changes });
  });
  if (holdout > 0)
    parts.push(
      campaignId === null
        ? t('experiments.nothingTo', { share: percent(holdout) })
        : t('experiments.withoutTo', { share: percent(holdout), campaign: campaignId }),
    );
  return parts.join(' ');
}

function changesInWords({ changes }: ArmInput): string {
  const { offers_per_response, theme_id, ranking, floor, settings, labels } = changes;
  return [
    offers_per_response === undefined ? '' : t('experiments.doesOffers', { count: offers_per_response }),
    theme_id === undefined ? '' : t('experiments.doesTheme', { id: theme_id }),
    ranking === undefined ? '' : t('experiments.doesRanking'),
    floor === undefined ? '' : t('experiments.doesFloor', { floor: String(floor) }),
    settings === undefined && labels === undefined
      ? ''
      : t('experiments.doesTexts', { names: textNames(changes).join(', ') }),
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Returns text such as `+4.1 %, between +1.2 % and +7 %`. */
export const liftText = (lift: Estimate | null): string =>
  lift === null
    ? '–'
    : t('experiments.between', { lift: change(lift.estimate), low: change(lift.low), high: change(lift.high) });

/** Returns text saying whether there is enough data for a result or, if not, when there should be. */
export function daysText({ is_enough: isEnough, days_left: days, enough_since: since }: ExperimentReport): string {
  if (isEnough) {
    const day = since === null ? '' : momentText(utc, Date.parse(since), 'day');
    return day === '' ? t('experiments.enough') : t('experiments.enoughSince', { day });
  }
  return days === null ? t('experiments.notEnough') : t('experiments.notEnoughDays', { days });
}

/** Returns the names of the labels and settings that an arm changes, as they appear in the form. */
const textNames = ({ settings, labels }: Pick<ArmInput['changes'], 'settings' | 'labels'>): string[] => [
  // While the user is still typing, the settings may not be an object.
  ...(typeof settings === 'object' ? Object.keys(settings ?? {}) : []).map(fieldName),
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

/** Returns the summary sentence of a report. */
export function sentenceOf(report: ExperimentReport): string {
  const { arms, control } = report;
  if (!isTrusted(report)) return t('experiments.notTrusted');
  const candidates = arms.slice(1).flatMap(({ arm, metrics: { revenue_per_1000_sessions: revenue } }) => {
    const lift = revenue?.lift ?? null;
    return lift === null ? [] : [{ arm, lift, isCertain: revenue?.is_significant === true }];
  });
  // Pick the best arm: significant lifts first, then the highest lift.
  const [best] = candidates.sort(
    (a, b) => Number(b.isCertain) - Number(a.isCertain) || b.lift.estimate - a.lift.estimate,
  );
  if (best === undefined) return t('experiments.tooFew');
  const values = { arm: best.arm, control, lift: liftText(best.lift) };
  return `${t('experiments.found', values)} ${daysText(report)}`;
}
