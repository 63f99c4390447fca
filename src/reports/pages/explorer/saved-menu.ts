import type pg from 'pg';
import type { PublisherContext } from '../../../catalog/pages.ts';
import { createFailFast, type DatabaseHealth } from '../../../platform/db/health.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { actionButton, csrfField, hiddenField, link, onceField } from '../../../shell/components.ts';
import { type Fields, hasRole, keyIn } from '../../../shell/context.ts';
import { createForm } from '../../../shell/forms.ts';
import type { PageResult, Pages } from '../../../shell/pages.ts';
import { maxNameLength, maxQueryLength, removeReport, type SavedReport, saveReport } from './saved-reports.ts';
import { type ExplorerState, queryOf, readQuery } from './state.ts';
import { dropdown } from './toolbar.ts';

const isManager = ({ viewer }: PublisherContext): boolean => hasRole(viewer.user.role, 'manager');

/**
 * Registers the routes that save and remove reports. Analysts may save reports, too, because this changes only their
 * own list of links.
 */
export function savedReportPages(
  pages: Pages<PublisherContext>,
  { pool, dbHealth, now }: { pool: pg.Pool; dbHealth: DatabaseHealth; now: () => number },
): void {
  const failFast = createFailFast(dbHealth);
  pages.post('/reports/saved', 'analyst', (context, fields) =>
    failFast(() => save(context, fields, (report) => saveReport(pool, report, now()))),
  );
  pages.post('/reports/saved/:key/remove', 'analyst', async (context) => {
    const { publisher, viewer, path } = context;
    const id = /^\d{1,9}$/.test(keyIn(context)) ? Number(keyIn(context)) : 0;
    const ofUser = isManager(context) ? null : viewer.user.id;
    if (!(await failFast(() => removeReport(pool, { publisherId: publisher.id, id, ofUser }))))
      throw new AppError('not_found');
    return { to: path('/reports'), done: t('reports.reportRemoved') };
  });
}

async function save(
  context: PublisherContext,
  fields: Fields,
  store: (report: Parameters<typeof saveReport>[1]) => Promise<boolean>,
): Promise<PageResult> {
  const { publisher, viewer, path } = context;
  const query = queryOf(readQuery(fields.text('query')));
  const [name, to] = [fields.text('name'), path(`/reports${query}`)];
  if (name === '' || [...name].length > maxNameLength)
    return { to, failed: t('reports.badName', { max: maxNameLength }) };
  if (query.length > maxQueryLength) return { to, failed: t('reports.tooManyFilters') };
  const report = { publisherId: publisher.id, userId: viewer.user.id, name, query, mayReplaceAll: isManager(context) };
  if (await store(report)) return { to, done: t('crud.saved', { name }) };
  return { to, failed: t('reports.nameTaken') };
}

/** Renders the menu of the publisher's saved reports, with a form to save the current one. */
export function savedMenu(context: PublisherContext, state: ExplorerState, saved: readonly SavedReport[]): Html {
  const { path, viewer } = context;
  const form = createForm({});
  const reportItem = ({ id, userId, name, query }: SavedReport) => html`
    <li>
      ${link(path(`/reports${query}`), name)}
      <a href="${path(`/reports/saved/${id}`)}" hx-boost="false">${t('reports.sendIt')}</a>
      ${
        (userId === viewer.user.id || isManager(context)) &&
        actionButton(context, {
          to: path(`/reports/saved/${id}/remove`),
          text: t('common.remove'),
          kind: 'quiet',
          small: true,
          confirm: t('reports.removeConfirm', { name }),
        })
      }
    </li>`;
  return dropdown(
    'saved',
    saved.length === 0 ? t('common.save') : t('reports.savedReports'),
    html`
      ${saved.length > 0 && html`<ul>${saved.map(reportItem)}</ul>`}
      <form method="post" action="${path('/reports/saved')}" data-keep>
        ${csrfField(viewer)}${onceField()}${hiddenField('query', queryOf(state))}
        ${form.input('name', { label: t('reports.saveAs'), required: true })}
        <button class="button small main">${t('common.save')}</button>
      </form>`,
  );
}
