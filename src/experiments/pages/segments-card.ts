import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, card, notice, table, tabs } from '../../shell/components.ts';
import { count, countryName, moneyFormat } from '../../shell/format.ts';
import type { ExperimentReport } from '../report/report.ts';
import { type Segment, segments } from '../report/sums.ts';
import type { RowsOfArms } from './report-card.ts';
import { liftText } from './words.ts';

/** Renders the revenue broken down by a user property, with a note about the number of comparisons. */
export function segmentsCard(report: ExperimentReport, href: string, rowsOf: RowsOfArms): Html {
  const selected = report.segments;
  const links = tabs(
    t('experiments.segments'),
    segments.map((by) => ({
      text: t(`experiments.by_${by}`),
      href: `${href}?version=${report.version}&population=${report.population}&segment=${by}#segments`,
      current: selected?.by === by,
    })),
  );
  return html`<div id="segments">${card(
    t('experiments.segments'),
    html`${links}${
      selected === null
        ? html`<p class="hint">${t('experiments.segmentsNone')}</p>`
        : valuesOf(selected, report.currency, rowsOf)
    }`,
    { lead: t('experiments.segmentsLead') },
  )}</div>`;
}

function valuesOf(
  { by, comparisons, values }: NonNullable<ExperimentReport['segments']>,
  currency: string | null,
  rowsOf: RowsOfArms,
): Html {
  const rows = values.flatMap(({ value, arms }) =>
    arms.map(({ arm, users, value: revenue, lift }, at): Cell[] => {
      const filters = { [by]: [value === '' ? 'unknown' : value] };
      return [
        at === 0 ? html`<strong>${nameOf(by, value)}</strong>` : '',
        arm,
        rowsOf([arm], 'sessions', count(users), filters),
        rowsOf([arm], 'revenue', moneyFormat(currency)(revenue), filters),
        at === 0 ? t('experiments.isControl') : liftText(lift),
      ];
    }),
  );
  const columns = [
    ...[{ text: t(`experiments.by_${by}`) }, { text: t('experiments.armKey') }],
    ...[
      { text: t('experiments.userCount'), numeric: true },
      { text: t('experiments.revenue'), numeric: true },
    ],
    { text: t('experiments.lift') },
  ];
  return html`
    ${notice('warn', html`<p>${t('experiments.manyLooks')} ${t('experiments.together', { count: comparisons })}</p>`)}
    ${table(t('experiments.segments'), columns, rows)}`;
}

function nameOf(by: Segment, value: string): string {
  if (value === '') return t('experiments.unknownValue');
  return by === 'country' ? countryName(value) : value;
}
