import { t } from '../../platform/i18n/messages.ts';
import { percent } from '../../shell/format.ts';
import type { ArmInput } from '../configuration/changes.ts';
import type { ExperimentValues } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import type { Estimate } from '../statistics/compare.ts';

/** What an experiment does, in words. */
export function inWords({ arms, holdout, campaign_id: campaignId }: ExperimentValues): string {
  const parts = arms.flatMap((arm) => {
    const changes = changesInWords(arm);
    return changes === '' ? [] : [t('experiments.armDoes', { share: percent(arm.share), changes })];
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
      : t('experiments.doesTexts', { names: Object.keys({ ...settings, ...labels }).join(', ') }),
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Such as `+4.1 %`. */
const signed = (value: number): string => `${value > 0 ? '+' : ''}${percent(value)}`;

/** Such as `+4.1 %, between +1.2 % and +7 %`. */
export const liftText = (lift: Estimate | null): string =>
  lift === null
    ? '–'
    : t('experiments.between', { lift: signed(lift.estimate), low: signed(lift.low), high: signed(lift.high) });

/** Whether there is enough data, or when there will be. */
export function daysText({ is_enough: isEnough, days_left: days }: ExperimentReport): string {
  if (isEnough) return t('experiments.enough');
  return days === null ? t('experiments.notEnough') : t('experiments.notEnoughDays', { days });
}

/** The one sentence on top of a report. */
export function sentenceOf(report: ExperimentReport): string {
  const { arms, sample_ratio: shares, control } = report;
  if (shares.is_wrong) return t('experiments.sharesWrong');
  const [first] = arms.slice(1);
  const lift = first?.metrics.revenue_per_1000_sessions?.lift ?? null;
  if (first === undefined || lift === null) return t('experiments.tooFew');
  const found = { arm: first.arm, control, lift: liftText(lift) };
  return `${t('experiments.found', found)} ${daysText(report)}`;
}
