import type pg from 'pg';
import { publisherPages } from '../catalog/pages.ts';
import type { Config } from '../config.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import type { App } from '../platform/http/app.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t, tHtml } from '../platform/i18n/messages.ts';
import { badge, type Cell, card, descriptionList, link, linkButton, notice, table } from '../shell/components.ts';
import { byteSize, count, moment, utc } from '../shell/format.ts';
import type { Shell } from '../shell/layout.ts';
import { commonPages } from '../shell/pages.ts';
import { type ExportState, type RunView, readExportState } from './status.ts';

type PageDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; config: Config; now: () => number };

/** Registers the operators' page about the data files, and a page with their state for each publisher. */
export function dataFilePages(app: App, services: Shell & { deps: PageDeps }): void {
  const { pool, dbHealth, config, now } = services.deps;
  const pages = commonPages(app, services);
  const failFast = createFailFast(dbHealth);
  pages.get('/operator/data-files', 'operator', async ({ path }) => {
    const { dataFiles } = config;
    const state = dataFiles === null ? null : await failFast(() => readExportState(pool, now()));
    return {
      title: t('nav.dataFiles'),
      lead: t('dataFiles.lead'),
      nav: 'data-files',
      body:
        dataFiles === null || state === null
          ? offCard()
          : html`
            <div id="data-files" hx-get="${path('/operator/data-files')}" hx-select="#data-files" hx-swap="outerHTML"
              hx-trigger="every 15s">
              ${stateCard(placeOf(dataFiles), state)}
              <h2 class="section">${t('dataFiles.runs')}</h2>
              ${table(t('dataFiles.runs'), columns(), state.runs.map(cells), 'runs')}
            </div>`,
    };
  });
  publisherPages(app, services).get('/data-files', 'analyst', async ({ viewer }) => {
    const state = config.dataFiles === null ? null : await failFast(() => readExportState(pool, now()));
    return {
      title: t('nav.dataFiles'),
      lead: t('dataFiles.lead'),
      nav: 'alerts',
      body: html`
        ${state === null ? offCard() : stateCard(null, state)}
        ${viewer.user.role === 'operator' && linkButton('/dashboard/operator/data-files', t('dataFiles.openExports'))}`,
    };
  });
}

/** Renders the card of an installation without data files, with a link to the guide. */
const offCard = (): Html =>
  card(
    t('dataFiles.off'),
    html`<p>${t('dataFiles.offText')} ${link('/docs/guides/data-files', t('integration.guide'))}</p>`,
  );

const placeOf = (setting: NonNullable<Config['dataFiles']>): string =>
  setting.kind === 'folder' ? setting.path : `s3://${setting.bucket}/${setting.prefix}`;

function stateCard(place: string | null, { exportedUntil, isBehind, failure }: ExportState): Html {
  const status =
    failure !== null
      ? badge(t('dataFiles.fails'), 'bad')
      : isBehind
        ? badge(t('dataFiles.behind'), 'warn')
        : badge(t(exportedUntil === null ? 'dataFiles.waiting' : 'dataFiles.works'), 'good');
  return html`
    ${
      failure !== null &&
      notice(
        'warn',
        tHtml('dataFiles.failure', {
          time: moment(utc, failure.at, 'second'),
          error: html`<code>${failure.error}</code>`,
        }),
      )
    }
    ${card(
      t('dataFiles.state'),
      descriptionList([
        [t('common.status'), status],
        [t('dataFiles.exportedUntil'), exportedUntil === null ? '—' : moment(utc, exportedUntil)],
        ...(place === null ? [] : [[t('dataFiles.place'), html`<code>${place}</code>`] as const]),
      ]),
    )}`;
}

const columns = () => [
  { text: t('dataFiles.run') },
  { text: t('dataFiles.plannedAt') },
  { text: t('common.status') },
  { text: t('dataFiles.rows'), numeric: true },
  { text: t('dataFiles.files'), numeric: true },
  { text: t('operator.size'), numeric: true },
];

const orDash = <Value>(value: Value | null, format: (value: Value) => string): string =>
  value === null ? '—' : format(value);

const cells = ({ id, plannedAt, confirmedAt, attempts, rows, files, bytes }: RunView): Cell[] => [
  String(id),
  moment(utc, plannedAt),
  confirmedAt === null
    ? html`${badge(t('dataFiles.open'))} <span class="hint">${
        attempts > 0 && t('dataFiles.attempts', { count: attempts })
      }</span>`
    : badge(t('dataFiles.exported'), 'good'),
  orDash(rows, count),
  orDash(files, count),
  orDash(bytes, byteSize),
];
