import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../platform/problem.ts';
import { actionButton, badge, card, saveForm, table } from '../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../shell/context.ts';
import { createForm, type FormBuilder, moreFields } from '../../shell/forms.ts';
import { type AlertKind, alertKinds } from '../kinds.ts';
import { type Channel, maxChannels } from '../rules.ts';

const kindBoxes = (form: FormBuilder, label: string): Html =>
  form.checkboxes('kinds', {
    label,
    choices: Object.entries(alertKinds).map(([value, text]) => ({ value, text: t(text) })),
  });

/** Renders the card with the alert kinds that the viewer receives by e-mail. */
export function mailCard(context: PublisherContext, kinds: readonly AlertKind[], hasMail: boolean): Html {
  const { path, viewer } = context;
  const body = hasMail
    ? saveForm(context, path('/alerts/mail'), kindBoxes(createForm({ kinds }), t('alerts.mailMe')))
    : html`<p class="hint">${t('alerts.noMailServer')}</p>`;
  return card(t('alerts.mail'), body, { lead: t('alerts.mailLead', { email: viewer.user.email }) });
}

/** Renders the card with the publisher's Slack-compatible webhooks. */
export function channelsCard(
  context: PublisherContext,
  channels: readonly Channel[],
  { typed = {}, errors = [] }: { typed?: FormValues; errors?: FieldErrors },
): Html {
  const canWrite = hasRole(context.viewer.user.role, 'manager');
  const form = createForm(typed, errors);
  const fields = html`
    ${form.summary()}
    ${form.input('name', { label: t('common.name'), required: true, hint: t('alerts.nameHint') })}
    ${form.input('url', {
      label: t('alerts.webhookUrl'),
      type: 'url',
      required: true,
      placeholder: t('alerts.urlExample'),
      secret: true,
    })}
    ${kindBoxes(form, t('alerts.tellIt'))}`;
  const add = saveForm(context, context.path('/alerts/channels'), fields, {
    button: t('alerts.addAndSend'),
    page: context.path('/alerts'),
  });
  const isOpen = errors.length > 0 || channels.length === 0;
  const body = html`
    ${channels.length > 0 && channelTable(context, channels, canWrite)}
    ${canWrite && channels.length < maxChannels && (isOpen ? add : moreFields(t('alerts.addChannel'), add))}
    ${!canWrite && channels.length === 0 && html`<p class="hint">${t('alerts.noChannels')}</p>`}`;
  return card(t('alerts.channels'), body, { lead: t('alerts.channelsLead') });
}

function channelTable(context: PublisherContext, channels: readonly Channel[], canWrite: boolean): Html {
  const remove = ({ id, name }: Channel) =>
    actionButton(context, {
      to: context.path(`/alerts/channels/${id}/remove`),
      text: t('common.remove'),
      small: true,
      confirm: t('alerts.removeConfirm', { name }),
    });
  const columns = [
    { text: t('alerts.channel') },
    { text: t('alerts.toldWhen') },
    { text: t('alerts.state') },
    { text: t('common.actions'), hidden: true },
  ];
  const cells = channels.map((channel) => [
    channel.name,
    channel.kinds.map((kind) => t(alertKinds[kind])).join(', '),
    channel.error === null
      ? badge(t('alerts.works'), 'good')
      : badge(t('alerts.failed', { error: wordProblem(readProblem(channel.error)) }), 'bad'),
    canWrite ? remove(channel) : nothing,
  ]);
  return table(t('alerts.channels'), columns, cells);
}
