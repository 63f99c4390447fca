import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type Language, languages } from '../../platform/i18n/languages.ts';
import { t } from '../../platform/i18n/messages.ts';
import { wordProblem } from '../../platform/problem.ts';
import {
  actionButton,
  badge,
  card,
  csrfField,
  descriptionList,
  emptyState,
  notice,
  readOnlyFields,
  saveForm,
  type Tone,
  table,
} from '../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../shell/context.ts';
import { count, languageName, moment } from '../../shell/format.ts';
import { columns, createForm, moreFields } from '../../shell/forms.ts';
import { storedVersion } from '../../shell/row-list.ts';
import type { SuppressionReason } from '../addresses.ts';
import type { MessageRow } from '../routes.ts';

export const messagesPath = '/settings/perk-messages';

const isAdmin = ({ viewer }: PublisherContext): boolean => hasRole(viewer.user.role, 'admin');

/** Settings to show: the stored ones, and the values of the form. */
type SettingsView = { stored: FormValues; values: FormValues; errors: FieldErrors; hasMailer: boolean };

export function settingsCard(context: PublisherContext, { stored, values, errors, hasMailer }: SettingsView): Html {
  const form = createForm(values, errors);
  const choice = (by: 'smtp' | 'webhook') => ({ value: by, text: t('messages.deliveryChoice', { by }) });
  const fields = html`
    ${form.summary()}${storedVersion(stored)}
    ${!hasMailer && values.delivery === 'smtp' && notice('info', html`${t('messages.noServer')}`)}
    ${form.checkbox('enabled', { label: t('messages.enabled') })}
    ${columns([
      form.select('delivery', { label: t('messages.delivery'), choices: [choice('smtp'), choice('webhook')] }),
      form.input('reminder_hours', {
        label: t('messages.reminderHours'),
        hint: t('messages.reminderHoursHint'),
        type: 'number',
        min: 1,
        max: 720,
      }),
    ])}
    ${columns([
      form.input('from_name', { label: t('messages.fromName'), hint: t('messages.fromNameHint') }),
      form.input('reply_to', { label: t('messages.replyTo'), type: 'email' }),
    ])}
    ${form.checkbox('double_opt_in', { label: t('messages.doubleOptIn'), hint: t('messages.doubleOptInHint') })}`;
  const to = context.path(messagesPath);
  return card(
    t('messages.settings'),
    isAdmin(context) ? saveForm(context, to, fields, { page: to }) : readOnlyFields(fields),
  );
}

export function previewCard(
  context: PublisherContext,
  { language, hasMailer }: { language: string; hasMailer: boolean },
): Html {
  const to = context.path(messagesPath);
  const choices = (Object.keys(languages) as Language[]).map((tag) => ({ value: tag, text: languageName(tag) }));
  const { email } = context.viewer.user;
  const test = actionButton(context, {
    to: `${to}/test`,
    text: t('messages.sendTest', { email }),
    values: { language },
  });
  const body = html`
    <form method="get" action="${to}" class="filters">
      ${createForm({ language }).select('language', { label: t('messages.language'), choices })}
      <button class="button">${t('messages.show')}</button>
    </form>
    <iframe class="mail-preview" title="${t('messages.preview')}" sandbox
      src="${to}/preview?language=${encodeURIComponent(language)}"></iframe>
    ${hasMailer && isAdmin(context) ? html`<div class="actions">${test}</div>` : nothing}`;
  return card(t('messages.preview'), body, { lead: t('messages.previewLead') });
}

/** Number of messages that are shown at first. */
const newestRows = 5;

const tones: Record<MessageRow['state'], Tone> = {
  pending: 'info',
  unconfirmed: 'plain',
  sent: 'good',
  failed: 'bad',
  suppressed: 'plain',
  dropped: 'plain',
};

export function logCard(context: PublisherContext, messages: readonly MessageRow[]): Html {
  if (messages.length === 0)
    return card(t('messages.log'), emptyState('mail', t('messages.none'), t('messages.noneText')));
  const retry = ({ id, can_retry: canRetry }: MessageRow): Html =>
    canRetry && isAdmin(context)
      ? actionButton(context, {
          to: context.path(`${messagesPath}/${id}/retry`),
          text: t('messages.retry'),
          small: true,
        })
      : nothing;
  const head = [
    ...[{ text: t('messages.created') }, { text: t('messages.kind') }, { text: t('messages.state') }],
    ...[
      { text: t('messages.attempts'), numeric: true },
      { text: t('common.actions'), hidden: true },
    ],
  ];
  const rows = messages.map((row) => [
    moment(context.publisher, row.created_at),
    t('messages.kindChoice', { kind: row.kind }),
    html`${badge(t('messages.stateChoice', { state: row.state }), tones[row.state])}
      ${row.error !== null && html`<span class="hint">${wordProblem(row.error)}</span>`}
      ${row.refusal !== null && html`<span class="hint">${t('messages.refusal', { refusal: row.refusal })}</span>`}`,
    count(row.attempts),
    retry(row),
  ]);
  const hasFailed = messages.some(({ state, can_retry: canRetry }) => state === 'failed' && canRetry);
  const all = { to: context.path(`${messagesPath}/retry`), text: t('messages.retryAll') };
  const older = rows.slice(newestRows);
  const olderTable = table(t('messages.log'), head, older);
  const body = html`${table(t('messages.log'), head, rows.slice(0, newestRows))}
    ${older.length > 0 && moreFields(t('messages.older', { count: older.length }), olderTable)}
    ${hasFailed && isAdmin(context) && html`<div class="actions">${actionButton(context, all)}</div>`}`;
  return card(t('messages.log'), body, { lead: t('messages.logLead') });
}

export function suppressionCard(
  context: PublisherContext,
  counts: Readonly<Record<SuppressionReason, number>>,
  refused: string | null,
): Html {
  const figures = descriptionList([
    [t('messages.unsubscribed'), count(counts.unsubscribed)],
    [t('messages.added'), count(counts.added)],
    [t('messages.bounced'), count(counts.bounced)],
    [t('messages.complained'), count(counts.complained)],
  ]);
  const errors = refused === null ? [] : [{ path: '/email', message: t('messages.notAnAddress') }];
  const form = createForm({ email: refused }, errors);
  const button = (action: string, text: string): Html =>
    html`<button class="button" name="action" value="${action}">${text}</button>`;
  const change = html`
    <form method="post" action="${context.path(`${messagesPath}/suppressions`)}" class="form">
      ${csrfField(context.viewer)}
      ${form.input('email', { label: t('messages.address'), type: 'email', required: true, autocomplete: 'off' })}
      <div class="form-end">
        ${button('check', t('messages.check'))}${button('suppress', t('messages.suppress'))}
        ${button('lift', t('messages.lift'))}
      </div>
    </form>`;
  return card(t('messages.suppressed'), html`${figures}${isAdmin(context) && change}`, {
    lead: t('messages.suppressedLead'),
  });
}
