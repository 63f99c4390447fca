import { parseEmail } from '../../accounts/users.ts';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { App } from '../../platform/http/app.ts';
import { html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type FieldErrors, type Fields, type FormValues, fieldErrorsOf, keyIn } from '../../shell/context.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { requireUnchanged, withStored } from '../../shell/row-list.ts';
import { findSuppression, suppress, unsuppress } from '../addresses.ts';
import { preview } from '../preview.ts';
import { listMessages, retry, retryAll } from '../routes.ts';
import type { SendDeps } from '../send.ts';
import { getSettings, setSettings } from '../settings.ts';
import { auditSuppressions, countSuppressions } from '../suppression-routes.ts';
import { logCard, messagesPath, previewCard, settingsCard, suppressionCard } from './cards.ts';

type Services = Shell & { management: ManagementClient; deps: Omit<SendDeps, 'findSavedPerk'> };

/** Registers the perk message pages: settings, preview and test, message log, and suppressions. */
export function messagePages(app: App, services: Services): void {
  const { management, deps } = services;
  const pages = publisherPages(app, services);
  const back = ({ path }: PublisherContext, done: string): PageResult => ({ to: path(messagesPath), done });
  const previewOf = async (context: PublisherContext, language: string | null) => {
    const settings = await management.read(context, getSettings);
    return preview(deps, { publisherId: context.publisher.id, settings, language }, deps.now());
  };

  pages.get(messagesPath, 'analyst', (context) => messagesPage(services, context, {}));
  pages.post(messagesPath, 'admin', async (context, fields) => {
    const stored = await management.read(context, getSettings);
    const typed = settingsIn(withStored(fields, stored));
    try {
      requireUnchanged(fields, stored);
      await management.write(context, (work) => setSettings(work, typed));
    } catch (err) {
      const errors = fieldErrorsOf(err);
      return messagesPage(services, context, { typed: typed as FormValues, errors });
    }
    return back(context, t('messages.saved'));
  });
  pages.get(`${messagesPath}/preview`, 'analyst', async (context) => ({
    framed: (await previewOf(context, languageIn(context))).html,
  }));
  pages.post(`${messagesPath}/test`, 'admin', async (context, fields) => {
    const { email } = context.viewer.user;
    const { subject, html: rich, text, fromName, headers } = await previewOf(context, fields.text('language') || null);
    const to = context.path(messagesPath);
    try {
      await deps.mailer?.send({ to: email, subject, html: rich, text, fromName, headers });
    } catch {
      return { to, failed: t('messages.testFailed') };
    }
    return { to, done: t('messages.testSent', { email }) };
  });
  pages.post(`${messagesPath}/:key/retry`, 'admin', async (context) => {
    await management.write(context, (work) => retry(work, keyIn(context)));
    return back(context, t('messages.retried'));
  });
  pages.post(`${messagesPath}/retry`, 'admin', async (context) => {
    const count = await management.write(context, retryAll);
    return back(context, t('messages.retriedAll', { count }));
  });
  pages.post(`${messagesPath}/suppressions`, 'admin', (context, fields) => changeAddress(services, context, fields));
}

const languageIn = ({ request }: PublisherContext): string | null => {
  const { language } = request.query as { language?: unknown };
  return typeof language === 'string' && language !== '' ? language : null;
};

const settingsIn = (fields: Fields) => ({
  enabled: fields.checked('enabled'),
  delivery: fields.text('delivery'),
  double_opt_in: fields.checked('double_opt_in'),
  reminder_hours: fields.number('reminder_hours'),
  from_name: fields.text('from_name'),
  reply_to: fields.text('reply_to').trim() || null,
});

/** Input that was rejected: settings with their validation errors, or an invalid address. */
type Refused = { typed?: FormValues; errors?: FieldErrors; address?: string | null };

async function messagesPage(
  { management, deps }: Services,
  context: PublisherContext,
  { typed, errors = [], address = null }: Refused,
): Promise<Page> {
  const { settings, messages, counts } = await management.read(context, async (work) => ({
    settings: await getSettings(work),
    messages: await listMessages(work.executor, work.publisherId),
    counts: await countSuppressions(work),
  }));
  const hasMailer = deps.mailer !== null;
  return {
    title: t('messages.title'),
    lead: t('messages.lead'),
    nav: 'perk-messages',
    status: errors.length > 0 || address !== null ? 422 : 200,
    body: html`
      ${settingsCard(context, { stored: settings, values: typed ?? settings, errors, hasMailer })}
      ${previewCard(context, { language: languageIn(context) ?? context.publisher.language.unit ?? 'en', hasMailer })}
      ${logCard(context, messages)}
      ${suppressionCard(context, counts, address)}`,
  };
}

async function changeAddress(services: Services, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { management, deps } = services;
  const email = parseEmail(fields.text('email'));
  if (email === null) return messagesPage(services, context, { address: fields.text('email') });
  const readers = deps.readerKeys(context.publisher.id, { email });
  const own = readers.filter(({ publisherId }) => publisherId === context.publisher.id);
  const action = fields.text('action');
  const wasFound = await management.write(context, async (work) => {
    if (action === 'suppress')
      await auditSuppressions(work, { added: await suppress(work.executor, own.slice(0, 1), 'added', work.nowMs) });
    if (action === 'lift' && (await unsuppress(work.executor, own))) await auditSuppressions(work, { removed: 1 });
    return findSuppression(work.executor, readers);
  });
  const to = context.path(messagesPath);
  return { to, done: t(wasFound === null ? 'messages.isNot' : 'messages.isSuppressed', { email }) };
}
