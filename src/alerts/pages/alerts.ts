import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { wordProblem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { card, linkButton } from '../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  fieldErrorsOf,
  hasRole,
  keyIn,
  queryText,
} from '../../shell/context.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { countReceivers } from '../../webhooks/endpoint-store.ts';
import type { Sender } from '../../webhooks/sender.ts';
import { takeTestToken } from '../../webhooks/test-limit.ts';
import { addTestedChannel, sendTestMessage } from '../channels.ts';
import { describe } from '../describe.ts';
import {
  type AlertQuery,
  allAlerts,
  countNewAlerts,
  countRecentAlerts,
  findAlert,
  findMuteOfAll,
  listAlerts,
  listSimilar,
  maxNoteLength,
  muteAlerts,
  readAlerts,
} from '../inbox.ts';
import { type AlertKind, defaultKinds, isAlertKind } from '../kinds.ts';
import { conditionOfAlert, historyDays, readHistory } from '../metrics/check.ts';
import { historyChart } from '../metrics/history-card.ts';
import { conditionText } from '../metrics/sentence.ts';
import { findMailKinds, listChannels, removeChannel, setChannelKinds, setMailRule } from '../rules.ts';
import {
  channelsCard,
  columnOfChannel,
  columnsField,
  kindsField,
  mailColumn,
  rulesCard,
  selectedBefore,
} from './channels.ts';
import {
  alertItem,
  alertList,
  allAlertsPath,
  type DescribedAlert,
  durationText,
  inboxCard,
  muteAllControl,
  muteAllNotice,
  muteFields,
  muteHours,
  similarCard,
} from './inbox.ts';

type PageDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  secretBox: SecretBox;
  sender: Sender;
  /** Mailer, or null if SMTP_URL is not set. */
  mailer: Mailer | null;
  now: () => number;
};

type PageServices = Shell & { deps: PageDeps };

type Scope = { deps: PageDeps; failFast: ReturnType<typeof createFailFast> };

/** Number of alerts on the page with the settings, and per page of the list of all alerts. */
const latestAlerts = 3;
const alertsPerPage = 50;

/**
 * Registers the alert pages: the inbox, the viewer's e-mail settings and the publisher's channels
 * (docs/reference/management.md#alerts).
 */
export function alertPages(app: App, services: PageServices): void {
  const { deps } = services;
  const pages = publisherPages(app, services);
  const scope: Scope = { deps, failFast: createFailFast(deps.dbHealth) };
  const { pool, now } = deps;
  const back = ({ path }: PublisherContext, done: string): PageResult => ({ to: path('/alerts'), done });

  pages.get('/alerts', 'analyst', (context): PageResult | Promise<PageResult> => {
    const kind = queryText(context, 'kind');
    return isAlertKind(kind) ? { to: pageOf(context, kind, null) } : alertsPage(scope, context);
  });
  pages.get(allAlertsPath, 'analyst', (context) => allAlertsPage(scope, context));
  pages.get('/alerts/:key', 'analyst', (context) => alertPage(scope, context));
  pages.post('/alerts/read', 'analyst', async (context, fields) => {
    const until = fields.number('until');
    await scope.failFast(() => readAlerts(pool, readerOf(context), typeof until === 'number' ? Math.floor(until) : 0));
    return back(context, t('alerts.allRead'));
  });
  pages.post('/alerts/rules', 'analyst', async (context, fields) => {
    await scope.failFast(() => saveRules(deps, context, fields));
    return back(context, t('alerts.rulesSaved'));
  });
  pages.post('/alerts/channels', 'manager', (context, fields) => createChannel(scope, context, fields));
  pages.post('/alerts/channels/:key/remove', 'manager', async (context) => {
    const id = idIn(context);
    if (!(await scope.failFast(() => removeChannel(pool, context.publisher.id, id)))) throw new AppError('not_found');
    return back(context, t('alerts.channelRemoved'));
  });
  pages.post('/alerts/channels/:key/test', 'manager', (context) => testChannel(scope, context));
  pages.post('/alerts/mail-test', 'analyst', (context) => testMail(scope, context));
  pages.post('/alerts/:key/mute', 'manager', async (context, fields) => {
    const isAll = keyIn(context) === allAlerts;
    const alertId = isAll ? allAlerts : idIn(context);
    const names = muteFields(alertId);
    const isMuted = fields.text('mute') !== 'no';
    const hours = muteHours.find((length) => String(length) === fields.text(names.hours)) ?? muteHours[0];
    const note = fields.text(names.note);
    if (note.length > maxNoteLength)
      return { to: context.path('/alerts'), failed: t('alerts.muteNoteLong', { max: maxNoteLength }) };
    const untilMs = isMuted ? now() + hours * hourMs : now();
    const mute = { publisherId: context.publisher.id, alertId, untilMs, by: context.viewer.user.email, note };
    if (!(await scope.failFast(() => muteAlerts(pool, mute, now())))) throw new AppError('not_found');
    if (isAll) return back(context, t(isMuted ? 'alerts.allMuted' : 'alerts.allUnmuted'));
    return back(context, isMuted ? t('alerts.mutedFor', { duration: durationText(hours) }) : t('alerts.unmuted'));
  });
}

/** Sends a test message to an existing channel. */
async function testChannel({ deps, failFast }: Scope, context: PublisherContext): Promise<PageResult> {
  const { publisher } = context;
  const to = context.path('/alerts');
  const error = await failFast(() => sendTestMessage(deps, publisher, idIn(context)));
  return error === null
    ? { to, done: t('alerts.testSent') }
    : { to, failed: t('alerts.tookNoMessage', { error: wordProblem(error) }) };
}

/** Sends a test e-mail to the viewer. */
async function testMail({ deps, failFast }: Scope, context: PublisherContext): Promise<PageResult> {
  const { pool, mailer, now, config } = deps;
  const { publisher, viewer } = context;
  const to = context.path('/alerts');
  if (mailer === null) return { to, failed: t('alerts.noMailServer') };
  await failFast(() => takeTestToken(pool, publisher.id, now()));
  const { email } = viewer.user;
  const text = `${t('alerts.testMailText')}\n\n${config.publicUrl}${to}`;
  const isSent = await mailer.send({ to: email, subject: `${publisher.name}: ${t('alerts.testTitle')}`, text }).then(
    () => true,
    () => false,
  );
  return isSent ? { to, done: t('alerts.testMailSent', { email }) } : { to, failed: t('alerts.testMailRefused') };
}

const readerOf = ({ publisher, viewer }: PublisherContext) => ({ publisherId: publisher.id, userId: viewer.user.id });

const idIn = (context: PublisherContext): number => (/^\d{1,9}$/.test(keyIn(context)) ? Number(keyIn(context)) : 0);

/**
 * Returns the selected alert kinds of a column. Boxes that the user has not changed stay as stored, because another
 * user may have changed them, and so do kinds that the submitted table did not contain.
 */
function kindsIn(fields: Fields, name: string, stored: readonly AlertKind[]): AlertKind[] {
  const selected = fields.all(name).filter(isAlertKind);
  const listed = fields.text(kindsField).split(' ');
  const before = selectedBefore(name) in fields.values ? fields.text(selectedBefore(name)).split(' ') : null;
  const isUnchanged = (kind: AlertKind): boolean => {
    if (before !== null) return before.includes(kind) === selected.includes(kind);
    return !listed.includes('') && !listed.includes(kind);
  };
  return [...selected.filter((kind) => !isUnchanged(kind)), ...stored.filter(isUnchanged)];
}

/**
 * Saves the columns that the submitted table contained. Channels that were added in the meantime keep their alerts, and
 * only managers can change channels.
 */
async function saveRules({ pool, now }: PageDeps, context: PublisherContext, fields: Fields): Promise<void> {
  const columns = new Set(fields.all(columnsField));
  const reader = readerOf(context);
  await transaction(pool, async (executor) => {
    if (columns.has(mailColumn)) {
      const kinds = kindsIn(fields, mailColumn, await findMailKinds(executor, reader));
      await setMailRule(executor, { ...reader, kinds }, now());
    }
    if (!hasRole(context.viewer.user.role, 'manager')) return;
    for (const { id, kinds } of await listChannels(executor, reader.publisherId)) {
      const name = columnOfChannel(id);
      if (columns.has(name)) await setChannelKinds(executor, { ...reader, id, kinds: kindsIn(fields, name, kinds) });
    }
  });
}

async function alertsPage(
  { deps, failFast }: Scope,
  context: PublisherContext,
  refused: { typed?: FormValues; errors?: FieldErrors } = {},
): Promise<Page> {
  const { publisher } = context;
  const [alerts, unread, recent, kinds, channels, receivers, muteOfAll] = await failFast(() =>
    Promise.all([
      describedAlerts(deps, context, { kind: null, beforeId: null, limit: latestAlerts }),
      countNewAlerts(deps.pool, readerOf(context)),
      countRecentAlerts(deps.pool, publisher.id, deps.now()),
      findMailKinds(deps.pool, readerOf(context)),
      listChannels(deps.pool, publisher.id),
      countReceivers(deps.pool, publisher.id),
      findMuteOfAll(deps.pool, publisher.id, deps.now()),
    ]),
  );
  const mail = deps.mailer === null ? null : kinds;
  const muteAll = muteOfAll === null ? muteAllControl(context) : nothing;
  return {
    title: t('nav.alerts'),
    lead: t('alerts.lead'),
    nav: 'alerts',
    actions: linkButton(context.path('/metric-alerts'), t('metricAlerts.title')),
    status: (refused.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${muteOfAll !== null && muteAllNotice(context, muteOfAll)}
      ${inboxCard(context, { alerts, unread, isMore: alerts.length === latestAlerts })}
      ${rulesCard(context, { mail, channels, receivers, recent }, muteAll)}
      ${channelsCard(context, channels, refused)}`,
  };
}

/** Renders the list of all alerts, which can be filtered by kind. */
async function allAlertsPage({ deps, failFast }: Scope, context: PublisherContext): Promise<Page> {
  const selected = queryText(context, 'kind');
  const kind = isAlertKind(selected) ? selected : null;
  const before = queryText(context, 'before');
  const beforeId = /^[1-9]\d{0,14}$/.test(before) ? Number(before) : null;
  const alerts = await failFast(() => describedAlerts(deps, context, { kind, beforeId, limit: alertsPerPage }));
  const newest = beforeId === null ? null : pageOf(context, kind, null);
  const older = alerts.length < alertsPerPage ? null : pageOf(context, kind, alerts.at(-1)?.id ?? null);
  return {
    title: t('alerts.all'),
    nav: 'alerts',
    trail: [{ text: t('nav.alerts'), href: context.path('/alerts') }],
    body: alertList(context, { alerts, kind, newest, older }),
  };
}

const describedAlerts = async (
  deps: PageDeps,
  context: PublisherContext,
  query: AlertQuery,
): Promise<DescribedAlert[]> =>
  (await listAlerts(deps.pool, readerOf(context), query, deps.now())).map((alert) => ({
    ...alert,
    ...describe(alert, context.publisher.timeZone),
  }));

/** Number of days before and after an alert that its chart shows. */
const [daysBefore, daysAfter] = [3, 1];

/** Renders the page of an alert: what happened, what it measured, and earlier alerts of the same kind and subject. */
async function alertPage({ deps, failFast }: Scope, context: PublisherContext): Promise<Page> {
  const { pool, now } = deps;
  const { publisher } = context;
  const alert = await failFast(() => findAlert(pool, readerOf(context), idIn(context), now()));
  if (alert === null) throw new AppError('not_found');
  const condition = conditionOfAlert(alert);
  const untilMs = Math.min(now(), (alert.endedAt?.getTime() ?? now()) + daysAfter * dayMs);
  const days = Math.ceil((untilMs - alert.raisedAt.getTime()) / dayMs) + daysBefore;
  const query = { publisherId: publisher.id, timeZone: publisher.timeZone };
  const history =
    condition === null
      ? null
      : await failFast(() =>
          readHistory(pool, { ...query, condition }, { nowMs: untilMs, days: Math.min(days, historyDays) }),
        );
  const described = { ...alert, ...describe(alert, publisher.timeZone) };
  const similar = await failFast(() => listSimilar(pool, alert));
  return {
    title: described.title,
    nav: 'alerts',
    trail: [{ text: t('nav.alerts'), href: context.path('/alerts') }],
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    body: html`
      ${alertItem(context, described)}
      ${
        condition !== null &&
        history !== null &&
        card(t('metricAlerts.measuredCard'), historyChart(context, condition, history), {
          lead: conditionText(condition),
        })
      }
      ${similarCard(context, similar)}`,
  };
}

function pageOf({ path }: PublisherContext, kind: AlertKind | null, before: number | null): string {
  const query = new URLSearchParams({
    ...(kind !== null && { kind }),
    ...(before !== null && { before: String(before) }),
  });
  return `${path(allAlertsPath)}${query.size === 0 ? '' : `?${query}`}`;
}

/** Adds a channel after sending a test message to it. If the channel does not accept the message, it is not saved. */
async function createChannel(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const typed = { name: fields.text('name'), url: fields.text('url') };
  try {
    await scope.failFast(() => addTestedChannel(scope.deps, context.publisher, { ...typed, kinds: defaultKinds }));
  } catch (err) {
    return alertsPage(scope, context, { typed, errors: fieldErrorsOf(err) });
  }
  return { to: context.path('/alerts'), done: t('alerts.channelAdded', { name: typed.name }) };
}
