import type { Html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, table } from '../../shell/components.ts';
import { decimal, percent } from '../../shell/format.ts';
import type { ExperimentReport } from '../report/report.ts';
import { liftText } from './words.ts';

/** All metrics, and the publisher's own outcomes, each with all arms. */
export function metricsTable({ arms, control }: ExperimentReport): Html {
  const names = [...new Set(arms.flatMap(({ metrics, outcomes }) => Object.keys({ ...metrics, ...outcomes })))];
  const rows = names.flatMap((name) =>
    arms.map(({ arm, metrics, outcomes }, at): Cell[] => {
      const found = metrics[name] ?? outcomes[name];
      return [
        at === 0 ? metricName(name) : '',
        arm,
        found === undefined ? '–' : decimal(found.value),
        at === 0 ? t('experiments.isControl') : liftText(found?.lift ?? null),
        found === undefined ? '–' : percent(found.probability_best),
      ];
    }),
  );
  const columns = [
    ...[{ text: t('experiments.metric') }, { text: t('experiments.armKey') }],
    ...[{ text: t('experiments.value'), numeric: true }, { text: t('experiments.against', { control }) }],
    { text: t('experiments.best'), numeric: true },
  ];
  return table(t('experiments.allMetrics'), columns, rows);
}

const metricNames = ['revenue', 'perks', 'clicks', 'conversions'] as const;

function metricName(name: string): string {
  const known = metricNames.find((metric) => name === `${metric}_per_1000_sessions`);
  return known === undefined ? t('experiments.perUser', { name }) : t(`experiments.${known}`);
}
