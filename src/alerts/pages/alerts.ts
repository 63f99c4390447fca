import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { inLanguage } from '../../platform/i18n/reader.ts';
import { dayMs } from '../../platform/lib/time.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { wordProblem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { type FieldErrors, type Fields, type FormValues, fieldErrorsOf, hasRole, keyIn } from '../../shell/context.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { countReceivers } from '../../webhooks/endpoint-store.ts';
import type { Sender } from '../../webhooks/sender.ts';
import { takeTestToken } from '../../webhooks/test-limit.ts';
import { requireUsableUrl, urlRulesOf } from '../../webhooks/url-rules.ts';
import { describe } from '../describe.ts';
import { listAlerts, muteAlerts, readAlerts } from '../inbox.ts';
import { type AlertKind, defaultKinds, isAlertKind } from '../kinds.ts';
import {
  addChannel,
  findMailKinds,
  listChannels,
  removeChannel,
  setChannelKinds,
  setMailRule,
  urlContext,
} from '../rules.ts';
import { post, slackText } from '../send.ts';
import { channelsCard, columnOfChannel, columnsField, mailColumn, rulesCard } from './channels.ts';
import { inboxCard } from './inbox.ts';

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

/** Duration of a mute, in days. */
const muteDays = 7;

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

  pages.get('/alerts', 'analyst', (context) => alertsPage(scope, context));
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
  pages.post('/alerts/:key/mute', 'manager', async (context, fields) => {
    const isMuted = fields.text('mute') !== 'no';
    const untilMs = isMuted ? now() + muteDays * dayMs : now();
    const mute = { publisherId: context.publisher.id, alertId: idIn(context), untilMs };
    if (!(await scope.failFast(() => muteAlerts(pool, mute)))) throw new AppError('not_found');
    return back(context, isMuted ? t('alerts.mutedFor', { days: muteDays }) : t('alerts.unmuted'));
  });
}

const readerOf = ({ publisher, viewer }: PublisherContext) => ({ publisherId: publisher.id, userId: viewer.user.id });

const idIn = (context: PublisherContext): number => (/^\d{1,9}$/.test(keyIn(context)) ? Number(keyIn(context)) : 0);

const kindsIn = (fields: Fields, name: string): AlertKind[] => fields.all(name).filter(isAlertKind);

/**
 * Saves the columns that the submitted table contained. Channels that were added in the meantime keep their alerts, and
 * only managers can change channels.
 */
async function saveRules({ pool, now }: PageDeps, context: PublisherContext, fields: Fields): Promise<void> {
  const columns = new Set(fields.all(columnsField));
  const reader = readerOf(context);
  await transaction(pool, async (executor) => {
    if (columns.has(mailColumn)) await setMailRule(executor, { ...reader, kinds: kindsIn(fields, mailColumn) }, now());
    if (!hasRole(context.viewer.user.role, 'manager')) return;
    for (const { id } of await listChannels(executor, reader.publisherId)) {
      const name = columnOfChannel(id);
      if (columns.has(name)) await setChannelKinds(executor, { ...reader, id, kinds: kindsIn(fields, name) });
    }
  });
}

async function alertsPage(
  { deps, failFast }: Scope,
  context: PublisherContext,
  refused: { typed?: FormValues; errors?: FieldErrors } = {},
): Promise<Page> {
  const { publisher } = context;
  const [alerts, kinds, channels, receivers] = await failFast(() =>
    Promise.all([
      listAlerts(deps.pool, readerOf(context), deps.now()),
      findMailKinds(deps.pool, readerOf(context)),
      listChannels(deps.pool, publisher.id),
      countReceivers(deps.pool, publisher.id),
    ]),
  );
  const mail = deps.mailer === null ? null : kinds;
  const describedAlerts = alerts.map((alert) => ({ ...alert, ...describe(alert, publisher.timeZone) }));
  return {
    title: t('nav.alerts'),
    lead: t('alerts.lead'),
    nav: 'alerts',
    status: (refused.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${inboxCard(context, describedAlerts, muteDays)}
      ${rulesCard(context, { mail, channels, receivers })}
      ${channelsCard(context, channels, refused)}`,
  };
}

/**
 * Returns the test message for a new channel. It uses the language of the channel's later messages, which may differ
 * from the language of the user who adds the channel.
 */
const helloText = (publisher: string, links: Parameters<typeof slackText>[2]): string =>
  inLanguage(null, () => slackText(publisher, { title: t('alerts.hello'), reason: t('alerts.helloReason') }, links));

/** Adds a channel after sending a test message to it. If the channel does not accept the message, it is not saved. */
async function createChannel(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { pool, secretBox, sender, config, now } = scope.deps;
  const typed = { name: fields.text('name'), url: fields.text('url') };
  const refuse = (path: string, message: string) => alertsPage(scope, context, { typed, errors: [{ path, message }] });
  if (typed.name === '' || typed.name.length > 80) return refuse('/name', t('alerts.mustHaveLength'));
  try {
    requireUsableUrl(typed.url, urlRulesOf(config));
    await scope.failFast(() => takeTestToken(pool, context.publisher.id, now()));
  } catch (err) {
    return alertsPage(scope, context, { typed, errors: fieldErrorsOf(err) });
  }
  const inbox = `${config.publicUrl}${context.path('/alerts')}`;
  const links = { page: inbox, inbox };
  const error = await post(sender, typed.url, helloText(context.publisher.name, links));
  if (error !== null) return refuse('/url', t('alerts.tookNoMessage', { error: wordProblem(error) }));
  const urlSealed = secretBox.seal(typed.url, urlContext);
  const channel = { publisherId: context.publisher.id, name: typed.name, kinds: defaultKinds, urlSealed };
  if (!(await scope.failFast(() => addChannel(pool, channel, now())))) return refuse('/name', t('alerts.oneTooMany'));
  return { to: context.path('/alerts'), done: t('alerts.channelAdded', { name: typed.name }) };
}
