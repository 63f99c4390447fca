import { type AlertKind, alertKinds } from '../../../alerts/kinds.ts';
import { type Channel, maxChannels } from '../../../alerts/rules.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton, saveForm } from '../../shell/actions.ts';
import { badge, card, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import type { FieldErrors } from '../../shell/fields.ts';
import { createForm, type FormBuilder, type FormValues, moreFields } from '../../shell/forms.ts';

const kindBoxes = (form: FormBuilder, label: string): Html =>
  form.checkboxes('kinds', {
    label,
    choices: Object.entries(alertKinds).map(([value, text]) => ({ value, text })),
  });

/** What the viewer is mailed of. */
export function mailCard(context: PublisherContext, kinds: readonly AlertKind[], hasMail: boolean): Html {
  const { path, viewer } = context;
  const body = hasMail
    ? saveForm(context, path('/alerts/mail'), kindBoxes(createForm({ kinds }), 'Mail me when'))
    : html`<p class="hint">This installation sends no mails: SMTP_URL is not set.</p>`;
  return card('Mail', body, { lead: `To ${viewer.user.email}, for you alone.` });
}

/** The publisher's Slack-compatible webhooks. */
export function channelsCard(
  context: PublisherContext,
  channels: readonly Channel[],
  { typed = {}, errors = [] }: { typed?: FormValues; errors?: FieldErrors },
): Html {
  const canWrite = hasRole(context.viewer.user.role, 'manager');
  const form = createForm(typed, errors);
  const fields = html`
    ${form.summary()}
    ${form.input('name', { label: 'Name', required: true, hint: 'Such as #checkout-team.' })}
    ${form.input('url', {
      label: 'Webhook URL',
      type: 'url',
      required: true,
      placeholder: 'https://hooks.slack.com/…',
      secret: true,
    })}
    ${kindBoxes(form, 'Tell it when')}`;
  const add = saveForm(context, context.path('/alerts/channels'), fields, {
    button: 'Add and send a first message',
    page: context.path('/alerts'),
  });
  const isOpen = errors.length > 0 || channels.length === 0;
  const body = html`
    ${channels.length > 0 && channelTable(context, channels, canWrite)}
    ${canWrite && channels.length < maxChannels && (isOpen ? add : moreFields('Add a channel', add))}
    ${!canWrite && channels.length === 0 && html`<p class="hint">None.</p>`}`;
  return card('Channels', body, {
    lead: 'Slack, and all that takes its incoming webhooks, such as Mattermost, or Discord at a URL with /slack.',
  });
}

function channelTable(context: PublisherContext, channels: readonly Channel[], canWrite: boolean): Html {
  const remove = ({ id, name }: Channel) =>
    actionButton(context, {
      to: context.path(`/alerts/channels/${id}/remove`),
      text: 'Remove',
      small: true,
      confirm: `${name} is told of no more alerts.`,
    });
  const columns = [{ text: 'Channel' }, { text: 'Told when' }, { text: 'State' }, { text: 'Actions', hidden: true }];
  const cells = channels.map((channel) => [
    channel.name,
    channel.kinds.map((kind) => alertKinds[kind]).join(', '),
    channel.error === null ? badge('Works', 'good') : badge(`Failed: ${channel.error}`, 'bad'),
    canWrite ? remove(channel) : nothing,
  ]);
  return table('Channels', columns, cells);
}
