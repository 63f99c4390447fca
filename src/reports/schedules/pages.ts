import type pg from 'pg';
import type { PublisherContext } from '../../catalog/pages.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { readProblem, wordProblem } from '../../platform/problem.ts';
import { actionButton, badge, card, linkButton, saveForm, table } from '../../shell/components.ts';
import { type Fields, hasRole, keyIn } from '../../shell/context.ts';
import { momentOr } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult, Pages } from '../../shell/pages.ts';
import type { ChatChannels } from '../chat-channels.ts';
import { listSavedReports, type SavedReport } from '../pages/explorer/saved-reports.ts';
import { isPeriod, nextDueMs, periods } from './due.ts';
import {
  listReaders,
  listSchedules,
  makeDue,
  maxSchedules,
  type Schedule,
  saveSchedule,
  stopSchedule,
} from './schedules.ts';

type PageDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; mailer: Mailer | null; now: () => number };

type Scope = { deps: PageDeps; chatChannels: ChatChannels | null };

/** Recipient as a form option. */
type Recipient = { value: string; text: string };

/**
 * Registers the pages that configure when and to whom a saved report is sent. Analysts can schedule reports only for
 * themselves.
 */
export function schedulePages(pages: Pages<PublisherContext>, scope: Scope): void {
  const failFast = createFailFast(scope.deps.dbHealth);
  pages.get('/reports/saved/:key', 'analyst', (context) => failFast(() => schedulePage(scope, context)));
  pages.post('/reports/saved/:key/schedules', 'analyst', (context, fields) =>
    failFast(() => addSchedule(scope, context, fields)),
  );
  pages.post('/reports/saved/schedules/:key/send', 'analyst', (context) => failFast(() => sendNow(scope, context)));
  pages.post('/reports/saved/schedules/:key/stop', 'analyst', (context) =>
    failFast(async () => {
      const { publisher, viewer, path } = context;
      const ofUser = hasRole(viewer.user.role, 'manager') ? null : viewer.user.id;
      const stopped = { publisherId: publisher.id, id: idIn(context), ofUser };
      const reportId = await stopSchedule(scope.deps.pool, stopped);
      if (reportId === null) throw new AppError('not_found');
      return { to: path(`/reports/saved/${reportId}`), done: t('reports.scheduleStopped') };
    }),
  );
}

/** Sends a scheduled report now. The next one is sent at its usual time. */
async function sendNow({ deps: { pool, now } }: Scope, context: PublisherContext): Promise<PageResult> {
  const { publisher, viewer, path } = context;
  const ofUser = hasRole(viewer.user.role, 'manager') ? null : viewer.user.id;
  const schedule = { publisherId: publisher.id, id: idIn(context), ofUser };
  const dueReport = await makeDue(pool, schedule, now());
  if (dueReport === null) throw new AppError('not_found');
  const to = path(`/reports/saved/${dueReport.reportId}`);
  return dueReport.isDue ? { to, done: t('reports.sentNow') } : { to, failed: t('reports.sentJustNow') };
}

const idIn = (context: PublisherContext): number => (/^\d{1,9}$/.test(keyIn(context)) ? Number(keyIn(context)) : 0);

async function reportIn({ deps }: Scope, context: PublisherContext): Promise<SavedReport> {
  const reports = await listSavedReports(deps.pool, context.publisher.id);
  const report = reports.find(({ id }) => id === idIn(context));
  if (report === undefined) throw new AppError('not_found');
  return report;
}

/**
 * Returns the recipients that the viewer may select besides themselves. Managers may select channels, and admins may
 * also select other users.
 */
async function recipientsOf(
  { deps, chatChannels }: Scope,
  { publisher, viewer }: PublisherContext,
): Promise<Recipient[]> {
  const { id, email, role } = viewer.user;
  const others = hasRole(role, 'admin') ? await listReaders(deps.pool, publisher.id) : [];
  const users = [{ id, email }, ...others.filter((user) => user.id !== id)];
  const chats = hasRole(role, 'manager') ? ((await chatChannels?.list(publisher.id)) ?? []) : [];
  return [
    ...(deps.mailer === null ? [] : users.map((user) => ({ value: `user.${user.id}`, text: user.email }))),
    ...chats.map((chat) => ({ value: `channel.${chat.id}`, text: t('reports.toChannel', { name: chat.name }) })),
  ];
}

async function schedulePage(scope: Scope, context: PublisherContext): Promise<Page> {
  const { publisher, path } = context;
  const report = await reportIn(scope, context);
  const recipients = await recipientsOf(scope, context);
  const schedules = await listSchedules(scope.deps.pool, { publisherId: publisher.id, reportId: report.id });
  const chats = (await scope.chatChannels?.list(publisher.id)) ?? [];
  const nameOf = (schedule: Schedule): string =>
    schedule.email ?? t('reports.toChannel', { name: chats.find(({ id }) => id === schedule.channelId)?.name ?? '–' });
  return {
    title: report.name,
    lead: t('reports.scheduleLead', { zone: publisher.timeZone }),
    nav: 'reports',
    body: html`
      ${card(
        t('reports.recipients'),
        schedules.length === 0
          ? html`<p class="hint">${t('reports.noRecipients')}</p>`
          : scheduleTable(context, schedules, nameOf),
        { actions: linkButton(path(`/reports${report.query}`), t('reports.openReport'), 'quiet') },
      )}
      ${card(t('reports.sendIt'), addForm(context, report, recipients))}`,
  };
}

function scheduleTable(
  context: PublisherContext,
  schedules: readonly Schedule[],
  nameOf: (schedule: Schedule) => string,
): Html {
  const { publisher, viewer, path } = context;
  const mayStop = ({ userId }: Schedule): boolean => userId === viewer.user.id || hasRole(viewer.user.role, 'manager');
  const cells = schedules.map((schedule) => [
    nameOf(schedule),
    html`${t(`reports.each_${schedule.period}`)}, ${hourText(schedule.hour)}`,
    momentOr(publisher, schedule.dueAt),
    momentOr(publisher, schedule.sentAt),
    schedule.error === null
      ? badge(t('alerts.works'), 'good')
      : badge(t('alerts.failed', { error: wordProblem(readProblem(schedule.error)) }), 'bad'),
    mayStop(schedule)
      ? html`
        ${actionButton(context, {
          to: path(`/reports/saved/schedules/${schedule.id}/send`),
          text: t('reports.sendNow'),
          small: true,
        })}
        ${actionButton(context, {
          to: path(`/reports/saved/schedules/${schedule.id}/stop`),
          text: t('reports.stop'),
          small: true,
        })}`
      : nothing,
  ]);
  const columns = [
    ...[{ text: t('reports.recipient') }, { text: t('reports.when') }, { text: t('reports.next') }],
    ...[{ text: t('reports.lastSent') }, { text: t('alerts.state') }, { text: t('common.actions'), hidden: true }],
  ];
  return table(t('reports.recipients'), columns, cells);
}

const hourText = (hour: number): string => `${String(hour).padStart(2, '0')}:00`;

function addForm(context: PublisherContext, report: SavedReport, recipients: readonly Recipient[]): Html {
  if (recipients.length === 0) return html`<p class="hint">${t('alerts.noMailServer')}</p>`;
  const form = createForm({ recipient: recipients[0]?.value ?? '', period: 'week', hour: '8' });
  const hours = Array.from({ length: 24 }, (_, hour) => ({ value: String(hour), text: hourText(hour) }));
  return saveForm(
    context,
    context.path(`/reports/saved/${report.id}/schedules`),
    html`
      ${form.select('recipient', { label: t('reports.recipient'), choices: recipients })}
      ${form.select('period', {
        label: t('reports.when'),
        choices: periods.map((value) => ({ value, text: t(`reports.each_${value}`) })),
      })}
      ${form.select('hour', { label: t('reports.atHour'), choices: hours })}`,
    { button: t('reports.sendIt'), once: true },
  );
}

async function addSchedule(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { publisher } = context;
  const { pool, now } = scope.deps;
  const report = await reportIn(scope, context);
  const to = context.path(`/reports/saved/${report.id}`);
  const [period, hour] = [fields.text('period'), Number(fields.text('hour') || Number.NaN)];
  const recipient = (await recipientsOf(scope, context)).find(({ value }) => value === fields.text('recipient'));
  if (recipient === undefined || !isPeriod(period) || !Number.isInteger(hour) || hour < 0 || hour > 23)
    return { to, failed: t('reports.badSchedule') };
  const [kind, id] = recipient.value.split('.');
  const saved = await saveSchedule(
    pool,
    {
      publisherId: publisher.id,
      reportId: report.id,
      period,
      hour,
      userId: kind === 'user' ? Number(id) : null,
      channelId: kind === 'channel' ? Number(id) : null,
      dueMs: nextDueMs({ period, hour }, publisher.timeZone, now()),
    },
    now(),
  );
  if (!saved) return { to, failed: t('reports.tooManySchedules', { max: maxSchedules }) };
  return { to, done: t('reports.scheduled', { recipient: recipient.text }) };
}
